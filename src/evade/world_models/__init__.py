"""World models. `build` is the one place that knows the kinds; everything else meets them at `interfaces.WorldModel`."""
