"""Policies, acting, rollouts, and learners that improve policies. `build` is the only module that knows the kinds."""
