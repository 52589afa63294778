"""Finds the elements that selectors mean, from the stack of elements that are open.

Selectors are followed from the left: an element that satisfies a part of one leaves, for its children or for all its
descendants, the next part to look for. So the work for a tag does not grow with the depth of the document.

Source: https://www.w3.org/TR/selectors-4/ and the crate ``lol_html``, ``selectors_vm``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from .document_encoding import DocumentEncoding
from .errors import parser_error
from .scanner import MEMORY_LIMIT, MEMORY_LIMIT_EXCEEDED, TagMatch
from .selector_syntax import (
    AttributeTest,
    ComplexSelector,
    Compound,
    NameTest,
    NthTest,
)
from .tree_context import HTML, ElementName
from .units import Edits, StartTagUnit

__all__ = ["Closed", "Matcher", "OpenElement"]

#: What an open element counts against the memory limit, about what the parser of the runtime needs for one.
_OPEN_ELEMENT_COST: Final = 192
_MOST_OPEN: Final = MEMORY_LIMIT // _OPEN_ELEMENT_COST

#: Attributes of HTML whose values selectors compare without case, by the standard's list.
_CASELESS: Final = frozenset(
    b"accept accept-charset align alink axis bgcolor charset checked clear codetype color compact declare defer dir "
    b"direction disabled enctype face frame hreflang http-equiv lang language link media method multiple nohref "
    b"noresize noshade nowrap readonly rel rev rules scope scrolling selected shape target text type valign valuetype "
    b"vlink".split()
)


class Counter:
    """How many children an open element has had, in all and of each type."""

    __slots__ = ("children", "types")

    def __init__(self) -> None:
        self.children = 0
        self.types: dict[ElementName, int] = {}


class OpenElement:
    """An element that something has to be remembered about until it is closed.

    ``groups`` are the numbers of the selectors that it matched; ``end_edits``, ``end_name``, ``end_handler`` and
    ``removes_content`` are what its handlers asked for. ``awaits_end`` is set when its end has to be reported.
    """

    awaits_end = False

    end_edits: Edits | None = None
    end_name: bytes | None = None
    end_handler: Callable[[Any], Any] | None = None
    removes_content = False
    child_steps: tuple[Step, ...] = ()

    def __init__(
        self, unit: StartTagUnit, namespace: str, with_content: bool, depth: int, heredity: int
    ) -> None:
        self.unit = unit
        self.namespace = namespace
        self.with_content = with_content
        self.depth = depth
        self.heredity = heredity
        self.groups: list[int] = []


class Closed:
    """An end tag and the remembered elements that it closes, the innermost first; at least one awaits its end."""

    __slots__ = ("elements", "tag")

    def __init__(self, tag: TagMatch, elements: list[OpenElement]) -> None:
        self.tag = tag
        self.elements = elements


#: Asks a start tag, its namespace and how many siblings there were before.
Check: TypeAlias = Callable[[StartTagUnit, str, Counter], bool]


@dataclass(slots=True, eq=False)
class Step:
    """One compound of a selector. ``next`` is what to look for below, ``group`` the selector's number at its end."""

    name: bytes | None
    checks: tuple[Check, ...]
    group: int
    next: Step | None = None
    next_is_child: bool = False


class Matcher:
    """The open elements of one document, and the selectors.

    Args: ``selectors`` the lists of selectors; an element's ``groups`` are places in it.
    """

    def __init__(
        self, selectors: Sequence[tuple[ComplexSelector, ...]], encoding: DocumentEncoding
    ) -> None:
        self._encoding = encoding
        self._counts_types = False
        self._counts = False
        entries: list[Step] = []
        for group, alternatives in enumerate(selectors):
            for selector in alternatives:
                step = self._compile(selector, group)
                if step is not None:
                    entries.append(step)
        self._entries_without_name = [step for step in entries if step.name is None]
        self._entries = {
            name: [step for step in entries if step.name in (None, name)]
            for name in {step.name for step in entries}
        }
        self._open: list[ElementName] = []
        self._marked: list[OpenElement] = []
        self._hereditary: list[Step] = []
        self._counter = Counter()
        self._counters: list[Counter] = [self._counter]

    def _compile(self, selector: ComplexSelector, group: int) -> Step | None:
        """The first step of a selector, None when no element can ever match it."""
        following: Step | None = None
        combinator = ""
        for index in reversed(range(len(selector.compounds))):
            compiled = self._compile_compound(selector.compounds[index])
            if compiled is None:
                return None
            name, checks = compiled
            following = Step(name, checks, -1 if following else group, following, combinator == ">")
            combinator = selector.combinators[index - 1] if index else ""
        return following

    def _compile_compound(
        self, compound: Compound
    ) -> tuple[bytes | None, tuple[Check, ...]] | None:
        name: bytes | None = None
        checks: list[Check] = []
        for condition in compound:
            match condition.test:
                case NameTest(None):
                    if condition.negated:
                        return None
                case NameTest(str(wanted)):
                    encoded = self._encoding.encode_exactly(wanted)
                    if condition.negated:
                        checks.append(_other_name_check(encoded))
                    elif not encoded or name not in (None, encoded):
                        return None
                    else:
                        name = encoded
                case NthTest() as nth:
                    self._counts = True
                    self._counts_types = self._counts_types or nth.of_type
                    checks.append(_negated(_nth_check(nth), condition.negated))
                case AttributeTest() as attribute:
                    check = _attribute_check(attribute, self._encoding)
                    checks.append(_negated(check, condition.negated))
        return name, tuple(checks)

    def start(self, tag: TagMatch, name: ElementName, namespace: str) -> OpenElement | None:
        """A start tag: opens the element; gives it when it matched, wholly or in part.

        Raises: TypeError when too many elements are open.
        """
        steps = name.steps
        if steps is None:
            steps = name.steps = self._entries.get(name.lower, self._entries_without_name)
        with_content = not (name.void if namespace is HTML else tag[3])
        opened = self._open
        depth = len(opened)
        if self._counts:
            self._count(name)
        marked = self._marked
        if self._hereditary:
            steps = steps + self._hereditary
        if marked and marked[-1].child_steps and marked[-1].depth == depth - 1:
            steps = [*steps, *marked[-1].child_steps]
        element = self._match(steps, tag, name, namespace, with_content) if steps else None
        if with_content:
            if depth >= _MOST_OPEN:
                raise parser_error(MEMORY_LIMIT_EXCEEDED)
            opened.append(name)
            name.open += 1
            if self._counts:
                self._counter = Counter()
                self._counters.append(self._counter)
            if element is not None:
                marked.append(element)
        return element

    def _count(self, name: ElementName) -> None:
        counter = self._counter
        counter.children += 1
        if self._counts_types:
            counter.types[name] = counter.types.get(name, 0) + 1

    def _match(
        self,
        steps: list[Step],
        tag: TagMatch,
        name: ElementName,
        namespace: str,
        with_content: bool,
    ) -> OpenElement | None:
        unit: StartTagUnit | None = None
        element: OpenElement | None = None
        hereditary = self._hereditary
        heredity = len(hereditary)
        lower = name.lower
        for step in steps:
            if step.name is not None and step.name != lower:
                continue
            if unit is None:
                unit = StartTagUnit(tag, name, self._encoding)
            if step.checks and not _holds(step.checks, unit, namespace, self._counter):
                continue
            if element is None:
                element = OpenElement(unit, namespace, with_content, len(self._open), heredity)
            if step.next is None:
                if step.group not in element.groups:
                    element.groups.append(step.group)
            elif with_content:
                if step.next_is_child:
                    element.child_steps = (*element.child_steps, step.next)
                elif step.next not in hereditary:
                    hereditary.append(step.next)
        if element is not None and len(element.groups) > 1:
            element.groups.sort()
        return element

    def end(self, tag: TagMatch, name: ElementName) -> Closed | None:
        """An end tag: closes up to the innermost element of that name; gives the remembered ones if one awaits it.

        An end tag without such an element changes nothing.
        """
        if not name.open:
            return None
        opened = self._open
        while True:
            last = opened.pop()
            last.open -= 1
            if last is name:
                break
        depth = len(opened)
        if self._counts:
            del self._counters[depth + 1 :]
            self._counter = self._counters[-1]
        marked = self._marked
        closed: list[OpenElement] = []
        awaited = False
        while marked and marked[-1].depth >= depth:
            element = marked.pop()
            closed.append(element)
            awaited = awaited or element.awaits_end
        if closed and self._hereditary:
            del self._hereditary[closed[-1].heredity :]
        return Closed(tag, closed) if awaited else None


def _holds(checks: tuple[Check, ...], unit: StartTagUnit, namespace: str, counter: Counter) -> bool:
    for check in checks:  # noqa: SIM110 - a generator expression costs more than the checks
        if not check(unit, namespace, counter):
            return False
    return True


def _negated(check: Check, negated: bool) -> Check:
    return (
        (lambda unit, namespace, counter: not check(unit, namespace, counter)) if negated else check
    )


def _other_name_check(name: bytes | None) -> Check:
    return lambda unit, _namespace, _counter: unit.element_name.lower != name


def _nth_check(nth: NthTest) -> Check:
    step, offset, of_type = nth.step, nth.offset, nth.of_type

    def check(unit: StartTagUnit, _namespace: str, counter: Counter) -> bool:
        index = counter.types[unit.element_name] if of_type else counter.children
        distance = index - offset
        if step == 0:
            return distance == 0
        return distance % step == 0 and distance // step >= 0

    return check


def _attribute_check(test: AttributeTest, encoding: DocumentEncoding) -> Check:
    name = encoding.encode_exactly(test.name)
    value = encoding.encode_exactly(test.value)
    if name is None or value is None:
        return lambda _unit, _namespace, _counter: False
    if test.operator is None:
        return lambda unit, _namespace, _counter: unit.find_attribute(name) is not None
    compare = _COMPARISONS[test.operator]
    lowered = value.lower()
    caseless = name in _CASELESS

    def check(unit: StartTagUnit, namespace: str, _counter: Counter) -> bool:
        ignore = test.ignore_case
        if ignore is None:
            ignore = caseless and namespace is HTML
        # Most tags do not have the value anywhere: seeing that costs less than reading their attributes.
        if not ignore and value not in unit.tag[2]:
            return False
        actual = unit.find_attribute(name)
        if actual is None:
            return False
        return compare(actual.lower(), lowered) if ignore else compare(actual, value)

    return check


_COMPARISONS: Final[dict[str, Callable[[bytes, bytes], bool]]] = {
    "=": bytes.__eq__,
    "~=": lambda actual, value: value in _words(actual),
    "|=": lambda actual, value: actual == value or actual.startswith(value + b"-"),
    "^=": lambda actual, value: bool(actual) and actual.startswith(value),
    "$=": lambda actual, value: bool(actual) and actual.endswith(value),
    "*=": lambda actual, value: bool(value) and value in actual,
}

_SPACES_TO_ONE: Final = bytes.maketrans(b"\t\n\f\r", b"    ")


def _words(value: bytes) -> list[bytes]:
    return value.translate(_SPACES_TO_ONE).split(b" ")
