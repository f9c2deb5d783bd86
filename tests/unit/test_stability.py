"""Two looks at one snapshot beside each other: the same, told apart by one field, or by chance."""

from hypothesis import given
from hypothesis import strategies as st

from drysweep_pipeline.engine.stability import Identity, Steady, compare

FIELDS = ("service", "path", "kind")


def found(path: str, services: int = 3) -> list[Identity]:
    return [(f"s{n}", f"{path}/s{n}.yaml", "no_owner") for n in range(services)]


def test_the_same_in_any_order_is_stable() -> None:
    assert compare(FIELDS, found("a"), reversed(found("a"))).steady is Steady.STABLE


def test_nothing_twice_says_nothing() -> None:
    assert compare(FIELDS, [], []).steady is Steady.EMPTY


def test_a_field_that_differs_is_named_with_what_it_held() -> None:
    told = compare(FIELDS, found("/tmp/a1"), found("/tmp/b7"))
    assert (told.steady, told.fields, told.pairs, told.of) == (Steady.UNSTABLE, ("path",), 3, 3)
    assert told.example == (("/tmp/a1/s0.yaml",), ("/tmp/b7/s0.yaml",))


def test_as_few_fields_are_blamed_as_explain_it() -> None:
    first = [(f"s{n}", f"a{n}", f"t1{n}") for n in range(3)]
    second = [(f"s{n}", f"b{n}", f"t2{n}") for n in range(3)]
    assert compare(FIELDS, first, second).fields == ("path", "kind")


def test_other_findings_each_time_are_no_pattern() -> None:
    first = [("s1", "p1", "k1"), ("s2", "p2", "k2"), ("s3", "p3", "k3")]
    second = [("s4", "p4", "k4"), ("s2", "p2", "k2"), ("s5", "p5", "k5")]
    told = compare(FIELDS, first, second, chance=True)
    assert (told.steady, told.only_first, told.only_second, told.fields) == (Steady.DIFFERENT, 2, 2, ())


def test_one_pair_is_a_pattern_only_where_chance_cannot_be_why() -> None:
    first, second = [("s1", "p1", "k")], [("s1", "p2", "k")]
    assert compare(FIELDS, first, second).steady is Steady.UNSTABLE
    assert compare(FIELDS, first, second, chance=True).steady is Steady.DIFFERENT


def test_findings_that_share_all_but_a_field_with_several_others_are_no_pairs() -> None:
    first = [("s1", "a", "k"), ("s2", "a", "k")]
    second = [("s3", "a", "k"), ("s4", "a", "k")]
    assert compare(FIELDS[:2], [each[:2] for each in first], [each[:2] for each in second]).steady is Steady.DIFFERENT


def test_the_only_field_of_a_fingerprint_has_nothing_to_pair_up_by() -> None:
    assert compare(("service",), [("a",)], [("b",)]).steady is Steady.DIFFERENT


@given(
    st.sets(st.tuples(st.sampled_from("ab"), st.sampled_from("cd"), st.sampled_from("ef"))),
    st.sets(st.tuples(st.sampled_from("ab"), st.sampled_from("cd"), st.sampled_from("ef"))),
)
def test_it_is_stable_exactly_where_both_looks_found_the_same(first: set[Identity], second: set[Identity]) -> None:
    told = compare(FIELDS, first, second)
    assert (told.steady in (Steady.STABLE, Steady.EMPTY)) == (first == second)
    assert compare(FIELDS, second, first).steady is told.steady
    assert told.pairs <= told.of
