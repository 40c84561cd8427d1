// The machine that says when to ask again, with a driver as a program in C++ would write it.

#include "support/check.hpp"

#include <map>
#include <type_traits>
#include <vector>

using namespace std::chrono_literals;
using ratecell::Limiter;
using ratecell::Waiting;

namespace {

static_assert(std::is_nothrow_move_constructible_v<Waiting> && !std::is_copy_constructible_v<Waiting>);

constexpr std::uint64_t second = 1'000'000'000;

ratecell_wait_event event_of(std::uint32_t kind, std::uint64_t now_ns, std::uint64_t id) {
    ratecell_wait_event event{};
    event.kind = kind;
    event.now_ns = now_ns;
    event.id = id;
    event.by_ns = UINT64_MAX;
    return event;
}

/// Performs the asks of one key, and remembers the ends.
class Driver {
public:
    explicit Driver(const char *policy)
        : limiter_(policy), waiting_(std::move(*Waiting::make(limiter_))) {}

    void arrive(std::uint64_t now_ns, std::uint64_t id, std::uint32_t cost, std::uint64_t by_ns = UINT64_MAX) {
        ratecell_wait_event arrival = event_of(RATECELL_WAIT_ARRIVE, now_ns, id);
        arrival.key = "k";
        arrival.key_len = 1;
        arrival.cost = cost;
        arrival.by_ns = by_ns;
        costs_[id] = cost;
        hand_in(arrival);
    }

    void hand_in(const ratecell_wait_event &event) {
        const ratecell::Status status = waiting_.event(event, [&](const ratecell_wait_action &action) {
            if (action.kind == RATECELL_WAIT_ASK) {
                answer(event.now_ns, action);
            } else {
                ended.push_back(action);
            }
        });
        CHECK(status.ok());
    }

    [[nodiscard]] auto next() const { return waiting_.next(); }
    [[nodiscard]] const Limiter &limiter() const { return limiter_; }

    std::vector<ratecell_wait_action> ended;
    int asks = 0;

private:
    void answer(std::uint64_t now_ns, const ratecell_wait_action &ask) {
        ratecell_request request{};
        request.key = "k";
        request.key_len = 1;
        request.cost = costs_[ask.id];
        request.now_ns = now_ns;
        request.flags = RATECELL_AT;
        if (ask.by_ns != UINT64_MAX) {
            request.max_delay_ns = ask.by_ns - now_ns;
            request.flags |= RATECELL_WITHIN;
        }
        ratecell_decision decision;
        CHECK(ratecell_limiter_decide(limiter_.get(), &request, &decision) >= 0);
        ratecell_wait_event answer = event_of(RATECELL_WAIT_ANSWER, now_ns, ask.id);
        answer.by_ns = ask.by_ns;
        answer.decision = &decision;
        asks++;
        hand_in(answer);
    }

    Limiter limiter_;
    Waiting waiting_;
    std::map<std::uint64_t, std::uint32_t> costs_{};
};

void in_the_order_of_arrival() {
    Driver driver("10/s burst=10");
    CHECK(driver.limiter().check_at("k", 10, 0s));
    driver.arrive(0, 1, 10);
    driver.arrive(0, 2, 1);
    driver.arrive(0, 3, 1, second / 2);
    CHECK_EQUAL(driver.asks, 1);
    CHECK_EQUAL(driver.ended.size(), 1u);
    CHECK_EQUAL(driver.ended[0].outcome, RATECELL_WAIT_LATE);
    CHECK_EQUAL(driver.ended[0].at_ns, second + second / 5);
    while (driver.next()) {
        driver.hand_in(
            event_of(RATECELL_WAIT_TIMER, static_cast<std::uint64_t>(driver.next()->count()), 0));
    }
    CHECK_EQUAL(driver.ended.size(), 3u);
    CHECK_EQUAL(driver.ended[1].id, 1u);
    CHECK_EQUAL(driver.ended[2].id, 2u);
    CHECK_EQUAL(driver.ended[2].outcome, RATECELL_WAIT_GO);
    driver.hand_in(event_of(RATECELL_WAIT_CLOSE, second, 0));
    driver.arrive(second, 4, 1);
    CHECK_EQUAL(driver.ended.back().outcome, RATECELL_WAIT_CLOSED);
}

void errors_are_values() {
    CHECK_EQUAL(Waiting::make(Limiter()).error(), RATECELL_EINVAL);
    ratecell_waiting_parameters parameters = RATECELL_WAITING_PARAMETERS_INIT;
    parameters.min_pause_ns = 0;
    CHECK_EQUAL(Waiting::make(parameters).error(), RATECELL_EINVAL);
    Waiting empty;
    CHECK(empty.get() == nullptr && !empty.next());
    int performed = 0;
    const auto count = [&](const ratecell_wait_action &) { performed++; };
    CHECK_EQUAL(empty.event(event_of(RATECELL_WAIT_TIMER, 0, 0), count), RATECELL_EINVAL);
    auto made = Waiting::make();
    CHECK(made && made->get() != nullptr);
    Waiting moved = std::move(*made);
    CHECK(made->get() == nullptr);
    CHECK_EQUAL(moved.event(event_of(99, 0, 0), count), RATECELL_EINVAL);
    CHECK_EQUAL(moved.event(event_of(RATECELL_WAIT_TIMER, 0, 0), count), 0);
    CHECK_EQUAL(performed, 0);
}

} // namespace

int main() {
    in_the_order_of_arrival();
    errors_are_values();
    return check::end(__FILE__);
}
