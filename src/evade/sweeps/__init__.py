"""Many runs: what is planned, what is done, and the engines that carry a plan out. Only the estimate needs torch."""
