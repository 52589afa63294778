"""Cron expressions: which moments they name, and which texts are refused."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyflare.cron.expression import CronError, CronExpression


def moment(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def after(expression: str, start: str, count: int = 1) -> list[str]:
    at: float | None = moment(start)
    found = []
    for _ in range(count):
        assert at is not None
        at = CronExpression.parse(expression).next_after(at)
        found.append("never" if at is None else f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M}")
        if at is None:
            break
    return found


#: 2026-01-01 is a Thursday; the 3rd is a Saturday, the 4th a Sunday. February begins on a Sunday.
NEXT = [
    # minutes and hours
    ("* * * * *", "2026-01-01 00:00", "2026-01-01 00:01"),
    ("* * * * *", "2026-12-31 23:59", "2027-01-01 00:00"),
    ("0 * * * *", "2026-01-01 00:00", "2026-01-01 01:00"),
    ("*/15 * * * *", "2026-01-01 00:46", "2026-01-01 01:00"),
    ("*/7 * * * *", "2026-01-01 00:56", "2026-01-01 01:00"),
    ("10/20 * * * *", "2026-01-01 00:31", "2026-01-01 00:50"),
    ("10-40/15 * * * *", "2026-01-01 00:40", "2026-01-01 01:10"),
    ("5,35 * * * *", "2026-01-01 00:05", "2026-01-01 00:35"),
    ("5,* * * * *", "2026-01-01 00:05", "2026-01-01 00:06"),
    ("59 23 * * *", "2026-01-01 00:00", "2026-01-01 23:59"),
    ("0 22-2 * * *", "2026-01-01 00:00", "2026-01-01 01:00"),
    ("0 22-2 * * *", "2026-01-01 02:00", "2026-01-01 22:00"),
    ("0 22-2/2 * * *", "2026-01-01 00:30", "2026-01-01 02:00"),
    ("55-5 * * * *", "2026-01-01 00:05", "2026-01-01 00:55"),
    ("*/59 * * * *", "2026-01-01 00:30", "2026-01-01 00:59"),
    ("0 */23 * * *", "2026-01-01 00:00", "2026-01-01 23:00"),
    ("0\t0  * * *", "2026-01-01 00:00", "2026-01-02 00:00"),
    # days of the month
    ("0 0 1 * *", "2026-01-01 00:00", "2026-02-01 00:00"),
    ("0 0 31 * *", "2026-01-31 00:00", "2026-03-31 00:00"),
    ("0 0 29 2 *", "2026-01-01 00:00", "2028-02-29 00:00"),
    ("0 0 29 2 *", "2096-03-01 00:00", "2104-02-29 00:00"),
    ("0 0 31 11 *", "2026-01-01 00:00", "never"),
    ("0 0 30,31 2 *", "2026-01-01 00:00", "never"),
    ("0 0 28-3 * *", "2026-01-03 00:00", "2026-01-28 00:00"),
    ("0 0 L * *", "2026-01-01 00:00", "2026-01-31 00:00"),
    ("0 0 L * *", "2026-02-01 00:00", "2026-02-28 00:00"),
    ("0 0 L 2 *", "2028-01-01 00:00", "2028-02-29 00:00"),
    ("0 0 L-3 * *", "2026-02-01 00:00", "2026-02-25 00:00"),
    ("0 0 L-30 * *", "2026-01-02 00:00", "2026-03-01 00:00"),
    ("0 0 LW * *", "2026-01-01 00:00", "2026-01-30 00:00"),
    ("0 0 LW * *", "2026-05-01 00:00", "2026-05-29 00:00"),
    ("0 0 L-2W * *", "2026-02-01 00:00", "2026-02-26 00:00"),
    ("0 0 L-1W * *", "2026-01-01 00:00", "2026-01-30 00:00"),
    ("0 0 15W * *", "2026-01-01 00:00", "2026-01-15 00:00"),
    ("0 0 3W * *", "2026-01-01 00:00", "2026-01-02 00:00"),
    ("0 0 4W * *", "2026-01-01 00:00", "2026-01-05 00:00"),
    ("0 0 1W 8 *", "2026-01-01 00:00", "2026-08-03 00:00"),
    ("0 0 31W 5 *", "2026-01-01 00:00", "2026-05-29 00:00"),
    ("0 0 31W 4 *", "2026-01-01 00:00", "never"),
    # months
    ("0 0 1 7 *", "2026-01-01 00:00", "2026-07-01 00:00"),
    ("0 0 1 jul *", "2026-01-01 00:00", "2026-07-01 00:00"),
    ("0 0 1 NOV-FEB *", "2026-02-02 00:00", "2026-11-01 00:00"),
    ("0 0 1 11-2/3 *", "2026-01-01 00:00", "2026-02-01 00:00"),
    ("0 0 1 */6 *", "2026-01-01 00:00", "2026-07-01 00:00"),
    ("0 0 1 FEB,Jun *", "2026-02-01 00:00", "2026-06-01 00:00"),
    # days of the week: 1 is Sunday
    ("0 0 * * 1", "2026-01-01 00:00", "2026-01-04 00:00"),
    ("0 0 * * SUN", "2026-01-01 00:00", "2026-01-04 00:00"),
    ("0 0 * * 2", "2026-01-01 00:00", "2026-01-05 00:00"),
    ("0 0 * * 7", "2026-01-01 00:00", "2026-01-03 00:00"),
    ("0 0 * * L", "2026-01-01 00:00", "2026-01-03 00:00"),
    ("0 0 * * 2-6", "2026-01-02 00:00", "2026-01-05 00:00"),
    ("0 0 * * MON-FRI", "2026-01-02 00:00", "2026-01-05 00:00"),
    ("0 0 * * FRI-MON", "2026-01-05 00:00", "2026-01-09 00:00"),
    ("0 0 * * */2", "2026-01-01 00:00", "2026-01-03 00:00"),
    ("0 0 * * 6L", "2026-01-01 00:00", "2026-01-30 00:00"),
    ("0 0 * * FRIL", "2026-01-31 00:00", "2026-02-27 00:00"),
    ("0 0 * * sunL", "2026-01-01 00:00", "2026-01-25 00:00"),
    ("0 0 * * MON#2", "2026-01-01 00:00", "2026-01-12 00:00"),
    ("0 0 * * 2#2", "2026-01-01 00:00", "2026-01-12 00:00"),
    ("0 0 * * THU#1", "2026-01-01 00:00", "2026-02-05 00:00"),
    ("0 0 * * MON#5", "2026-01-01 00:00", "2026-03-30 00:00"),
    ("0 0 * FEB MON#5", "2073-01-01 00:00", "2112-02-29 00:00"),
    # both days: either counts, unless one is exactly a star
    ("0 0 13 * FRI", "2026-01-01 00:00", "2026-01-02 00:00"),
    ("0 0 13 * FRI", "2026-01-09 00:00", "2026-01-13 00:00"),
    ("0 0 L * 1", "2026-01-26 00:00", "2026-01-31 00:00"),
    ("0 0 */30 * *", "2026-01-01 00:00", "2026-01-31 00:00"),
    ("0 0 */2 * 1", "2026-01-01 00:00", "2026-01-03 00:00"),
    ("0 0 */1 * 1", "2026-01-01 00:00", "2026-01-02 00:00"),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "start", "expected"), NEXT)
def test_the_next_time(expression: str, start: str, expected: str) -> None:
    assert after(expression, start) == [expected]


def test_the_moment_itself_is_not_after_itself() -> None:
    assert after("30 6 * * *", "2026-01-01 06:30") == ["2026-01-02 06:30"]


def test_seconds_within_a_minute_do_not_count() -> None:
    at = CronExpression.parse("* * * * *").next_after(moment("2026-01-01 00:00") + 59.9)

    assert at == moment("2026-01-01 00:01")


def test_times_follow_one_another() -> None:
    assert after("0 12 LW * *", "2026-01-01 00:00", 4) == [
        "2026-01-30 12:00",
        "2026-02-27 12:00",
        "2026-03-31 12:00",
        "2026-04-30 12:00",
    ]


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("", "five fields"),
        ("* * * *", "but there are 4"),
        ("* * * * * *", "but there are 6"),
        ("@daily", "but there are 1"),
        (" * * * * *", "blanks before or after"),
        ("* * * * *\n", "blanks before or after"),
        ("*\n* * * *", "but there are 4"),
        ("60 * * * *", "the minute: '60' is not a number from 0 to 59"),
        ("-1 * * * *", "the minute: '' is not"),
        ("1.5 * * * *", "the minute"),
        ("* 24 * * *", "the hour: '24' is not a number from 0 to 23"),
        ("* * 0 * *", "the day of the month: '0'"),
        ("* * 32 * *", "the day of the month: '32'"),
        ("* * * 13 *", "a name from JAN to DEC"),
        ("* * * JANUARY *", "the month"),
        ("* * * * 0", r"Sunday is 1, Saturday 7"),
        ("* * * * 8", "the day of the week: '8'"),
        ("* * * * 0-5", r"Sunday is 1"),
        ("*,5 * * * *", "begins a list with"),
        ("5,,6 * * * *", "has an empty part"),
        ("*/0 * * * *", "is not from 1 to 59"),
        ("*/60 * * * *", "is not from 1 to 59"),
        ("* */24 * * *", "is not from 1 to 23"),
        ("* * */31 * *", "is not from 1 to 30"),
        ("* * * */12 *", "is not from 1 to 11"),
        ("* * * * */7", "is not from 1 to 6"),
        ("*/x * * * *", "needs a number after /"),
        ("1-2-3 * * * *", "'2-3' is not"),
        ("* * ? * *", r"'\?' is not"),
        ("* * l * *", "'l' is not"),
        ("* * L-31 * *", "from 1 to 30 after L-"),
        ("* * L,15 * *", "must stand alone"),
        ("* * 15W,16 * *", "must stand alone"),
        ("* * W * *", "'W' is not"),
        ("* * * * MON#6", "from 1 to 5 after #"),
        ("* * * * MON#1,TUE", "must stand alone"),
        ("* * * * fril", "'fril' is not"),
        ("\u0665 * * * *", "the minute"),
    ],
)
def test_a_refused_expression_says_why(expression: str, problem: str) -> None:
    with pytest.raises(CronError, match=problem):
        CronExpression.parse(expression)


values = lambda first, last: st.sets(st.integers(first, last), min_size=1, max_size=3)  # noqa: E731


@settings(max_examples=60, deadline=None)
@given(
    minutes=values(0, 59),
    hours=values(0, 23),
    days=st.none() | values(1, 31),
    months=values(1, 12),
    weekdays=st.none() | values(1, 7),
    start=st.integers(0, 4_000_000_000),
)
def test_the_next_time_is_the_first_of_all_days_that_match(
    minutes: set[int],
    hours: set[int],
    days: set[int] | None,
    months: set[int],
    weekdays: set[int] | None,
    start: int,
) -> None:
    fields = [minutes, hours, days, months, weekdays]
    text = " ".join("*" if each is None else ",".join(map(str, sorted(each))) for each in fields)

    def matches(day: date) -> bool:
        by_day = days is not None and day.day in days
        by_week = weekdays is not None and day.isoweekday() % 7 + 1 in weekdays
        either = by_day or by_week or (days is None and weekdays is None)
        return day.month in months and either

    expected = None
    first = datetime.fromtimestamp(start, UTC)
    for offset in range(366 * 9):
        day = first.date() + timedelta(days=offset)
        if matches(day):
            times = [datetime.combine(day, time(h, m), UTC) for h in hours for m in minutes]
            expected = min((each for each in times if each.timestamp() > start), default=None)
            if expected is not None:
                break

    found = CronExpression.parse(text).next_after(start)

    assert found == (None if expected is None else expected.timestamp())
