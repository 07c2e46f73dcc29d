import math

import pytest

from evade.viewing.formats import format_duration, format_value


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.991, "%", "99.10"),
        (0.0312, "nats", "0.0312"),
        (0.10234, "", "0.102"),
        (-4.126, "points", "-4.13"),
        (184233.4, "/s", "184,233"),
        (412.34, "/s", "412.3"),
        (0.00000712, "nats", "7.1e-06"),
        (0.0, "nats", "0"),
        (math.nan, "nats", "nan"),
        (-math.inf, "%", "-inf"),
    ],
)
def test_values_are_short_whatever_their_size(value, unit, text):
    assert format_value(value, unit) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.2, "0 s"),
        (59.4, "59 s"),
        (59.6, "1 min 0 s"),
        (200, "3 min 20 s"),
        (7500, "2 h 5 min"),
        (3 * 86400 + 4 * 3600 + 59, "3 d 4 h"),
    ],
)
def test_durations_are_shown_in_their_two_largest_units(seconds, text):
    assert format_duration(seconds) == text


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (651.0, "games", "651"),
        (98304, "steps", "98,304"),
        (0.0, "games", "0"),
        (2.5, "steps", "2.50"),
        (3.0, "", "3.00"),
    ],
)
def test_what_is_counted_has_no_decimals(value, unit, shown):
    assert format_value(value, unit) == shown
