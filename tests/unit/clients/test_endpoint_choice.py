"""Which endpoint is asked next."""

from __future__ import annotations

from sopbench.clients.endpoints import LONGEST_REST, Endpoint, choose, next_release


def test_the_least_busy_is_chosen_and_ties_go_to_the_least_used():
    a, b, c = (
        Endpoint("a", outstanding=2),
        Endpoint("b", outstanding=1, served=9),
        Endpoint("c", outstanding=1, served=3),
    )
    assert choose([a, b, c], 0.0) is c


def test_who_just_failed_a_request_is_chosen_only_for_want_of_others():
    a, b = Endpoint("a"), Endpoint("b", outstanding=50)
    assert choose([a, b], 0.0, avoid=a) is b
    assert choose([a], 0.0, avoid=a) is a


def test_rest_doubles_up_to_a_bound_and_ends_with_a_success():
    endpoint, now, rests = Endpoint("a"), 100.0, []
    for _ in range(9):
        endpoint.failed(started=now, now=now)
        rests.append(endpoint.rest_until - now)
        now = endpoint.rest_until
    assert rests == [1, 2, 4, 8, 16, 32, LONGEST_REST, LONGEST_REST, LONGEST_REST]
    endpoint.answered()
    assert not endpoint.unavailable(now)
    endpoint.failed(started=now, now=now)
    assert endpoint.rest_until - now == 1


def test_a_crowd_that_fails_together_is_one_failure():
    endpoint = Endpoint("a")
    for k in range(64):
        endpoint.failed(started=10.0, now=20.0 + k / 100)
    assert endpoint.failures == 1
    assert endpoint.rest_until == 21.0


def test_where_all_rest_the_first_that_is_due_is_asked_all_the_same():
    a, b = Endpoint("a", rest_until=30.0), Endpoint("b", rest_until=20.0)
    assert choose([a, b], 10.0) is b


def test_a_held_endpoint_is_not_asked_even_if_it_is_the_only_one():
    a, b = Endpoint("a"), Endpoint("b")
    a.hold(15.0)
    a.hold(12.0)  # a shorter word does not take back the longer one
    assert choose([a, b], 10.0) is b
    b.hold(20.0)
    assert choose([a, b], 10.0) is None
    assert next_release([a, b]) == 15.0
    assert choose([a, b], 15.0) is a
