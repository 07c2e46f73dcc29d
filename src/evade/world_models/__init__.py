"""World models. `build` is the only module that knows the kinds; all other code uses `interfaces.WorldModel`."""
