import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mfpde.runs.times import save_times


def test_by_default_the_start_and_the_end():
    assert save_times(3.0).tolist() == [0.0, 3.0]


def test_default_saves_are_equal_intervals():
    np.testing.assert_allclose(save_times(3.0, default_saves=6), np.arange(7) / 2)


@settings(deadline=None)
@given(
    t_end=st.floats(1e-3, 1e6),
    intervals=st.floats(0.1, 3000.0),
)
def test_regular_saves_start_at_zero_end_at_the_end_and_increase(t_end, intervals):
    every = t_end / intervals
    times = save_times(t_end, save_every=every)
    assert times[0] == 0.0
    assert times[-1] == t_end
    gaps = np.diff(times)
    assert (gaps > 0).all()
    assert (gaps <= every * (1 + 1e-6)).all()
    np.testing.assert_allclose(gaps[:-1], every, rtol=1e-9)


@settings(deadline=None)
@given(count=st.integers(1, 5000), every=st.floats(1e-4, 1e3))
def test_a_whole_number_of_intervals_gives_no_extra_save(count, every):
    assert len(save_times(count * every, save_every=every)) == count + 1


def test_given_times_are_kept_exactly():
    given_times = [0.1, 0.25, 2.0]
    assert save_times(2.0, save_at=given_times).tolist() == given_times


def test_a_time_past_the_end_by_rounding_only_is_the_end():
    assert save_times(0.3, save_at=[0.1, 0.1 + 0.2])[-1] == 0.3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"t_end": 0.0}, "t_end = 0.0 must be a finite number, above 0"),
        ({"t_end": np.inf}, "t_end = inf"),
        ({"t_end": 1.0, "save_every": 0.0}, "save_every = 0.0 .* above 0"),
        ({"t_end": 1.0, "save_every": 1e-9}, "1e[+]09 saves; .* raise save_every"),
        ({"t_end": 1.0, "save_every": 0.5, "save_at": [1.0]}, "give one of them"),
        ({"t_end": 1.0, "save_at": []}, "nonempty"),
        ({"t_end": 1.0, "save_at": [[0.5]]}, "nonempty list"),
        (
            {"t_end": 1.0, "save_at": [0.5, np.nan]},
            r"save_at\[1\] = nan must be finite",
        ),
        (
            {"t_end": 1.0, "save_at": [0.5, 0.5]},
            r"save_at\[0\] = 0.5 is followed by 0.5",
        ),
        ({"t_end": 1.0, "save_at": [0.5, 1.5]}, r"save_at\[1\] = 1.5 .* raise t_end"),
        ({"t_end": 1.0, "save_at": [-0.5]}, r"save_at\[0\] = -0.5"),
        ({"t_end": 1.0, "default_saves": 0}, "default_saves = 0"),
    ],
)
def test_errors_repeat_the_value_and_name_the_way_out(arguments, message):
    with pytest.raises(ValueError, match=message):
        save_times(arguments.pop("t_end"), **arguments)
