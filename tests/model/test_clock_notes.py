"""What is said about clocks, worked out by hand."""

from __future__ import annotations

from protonlab.model.clocks import ClockReading, clock_notes


def reading(mhz: int | None, *throttle: str, uuid: str = "GPU-1", **state: float) -> ClockReading:
    return ClockReading("", uuid, mhz, None, state.get("watts"), None, throttle)


def test_steady_clocks_say_nothing() -> None:
    assert clock_notes(()) == ()
    assert clock_notes([reading(1980)]) == ()
    assert clock_notes([reading(1000), reading(1030), reading(1000)]) == ()  # 3 % and no more


def test_a_clock_that_moved_is_said_with_numbers() -> None:
    (note,) = clock_notes([reading(1000), reading(1031)])
    assert note.startswith("The SM clock moved between 1000 and 1031 MHz (by 3.1 %) while")
    (note,) = clock_notes([reading(345, "idle"), reading(None), reading(1980)])
    assert note.startswith("The SM clock moved between 345 (idle) and 1980 MHz (by 473.9 %)")


def test_a_clock_that_moved_in_the_middle_counts() -> None:
    assert len(clock_notes([reading(1980), reading(1500), reading(1980)])) == 1


def test_a_slowdown_is_said_with_what_the_gpu_was_at() -> None:
    slowed = ClockReading("", "GPU-1", 1755, 3201, 699.6, 67, ("power cap", "clock setting"))
    assert clock_notes([reading(1755), slowed]) == (
        "The GPU was slowed down (power cap) in 1 of 2 readings, at SM clock 1755 MHz, 700 W, "
        "67 °C.",
    )
    assert clock_notes([reading(None, "power brake")]) == (
        "The GPU was slowed down (power brake) in 1 of 1 readings.",
    )


def test_what_the_user_set_and_idleness_are_no_slowdown() -> None:
    assert clock_notes([reading(1200, "clock setting"), reading(1200, "idle")]) == ()


def test_gpus_are_not_compared_with_each_other() -> None:
    first, second = "GPU-aaaaaaaa-1", "GPU-bbbbbbbb-2"
    steady = [reading(1000, uuid=first), reading(1980, uuid=second)]
    assert clock_notes(steady) == ()
    (note,) = clock_notes([*steady, reading(1500, uuid=second)])
    assert note.startswith("The SM clock of GPU-bbbbbbbb moved between 1500 and 1980 MHz")
