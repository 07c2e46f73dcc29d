"""Policies, acting, rollouts, and the learners that improve policies. `build` is the one place that knows the kinds."""
