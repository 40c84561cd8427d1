// Limiters in memory and files that are shared, and other policies on the same keys.

#include "support/check.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <vector>

using namespace std::chrono_literals;
using ratecell::Config;
using ratecell::Decision;
using ratecell::Failure;
using ratecell::Limiter;
using ratecell::Request;
using ratecell::Result;
using ratecell::WhenFull;

namespace {

/// Memory as regions need it.
class Memory {
public:
    explicit Memory(std::size_t len) : len_(len), lines_((len + sizeof(Line) - 1) / sizeof(Line)) {}

    void *data() { return lines_.data(); }
    std::size_t size() const { return len_; }

private:
    struct alignas(64) Line {
        char bytes[64] = {};
    };

    std::size_t len_;
    std::vector<Line> lines_;
};

void one_makes_and_another_attaches() {
    const Config few{64, WhenFull::Deny};
    Memory memory(ratecell::region_size("10/w", few));
    CHECK(!Limiter::attach(memory.data(), memory.size(), "10/w").error().why().empty());
    Result<Limiter, Failure> here = Limiter::init(memory.data(), memory.size(), "10/w", few);
    CHECK(here);
    CHECK_EQUAL(here.error(), 0);
    CHECK(here.error().why().empty());

    const Limiter there = *Limiter::attach(memory.data(), memory.size(), "10/w", few);
    CHECK(there);
    CHECK_EQUAL(here->check_at("key", 4, 0s).remaining(), 6u);
    CHECK_EQUAL(there.check_at("key", 0, 0s).remaining(), 6u);
    CHECK(*here->epoch() == *there.epoch());
    *here = Limiter();
    CHECK_EQUAL(there.check_at("key", 6, 0s).remaining(), 0u);
    CHECK_EQUAL(Limiter::attach(memory.data(), memory.size(), "10/w")->check_at("key", 0, 0s).remaining(), 0u);

    // Made anew, with as many keys as fit.
    const Limiter anew = *Limiter::init(memory.data(), memory.size(), "10/w");
    CHECK_EQUAL(anew.check_at("key", 0, 0s).remaining(), 10u);
    CHECK_EQUAL(anew.stats_at(0s)->slots, there.stats_at(0s)->slots);
    CHECK_EQUAL(ratecell::region_size("sliding_log 1/s"), 0u);
    CHECK_EQUAL(ratecell::region_size(nullptr), 0u);
}

void what_differs_is_told() {
    const Config few{64, WhenFull::Deny};
    Memory memory(ratecell::region_size("fixed_window 10/h", few));
    CHECK_EQUAL(Limiter::attach(memory.data(), memory.size(), "10/w").error(), RATECELL_EREGION_NONE);
    CHECK_EQUAL(Limiter::init(memory.data(), memory.size() - 1, "fixed_window 10/h", few).error(),
                RATECELL_EREGION_SMALL);
    const Result<Limiter, Failure> made = Limiter::init(memory.data(), memory.size(), "fixed_window 10/h", few);
    CHECK(made);
    const struct {
        const char *policy;
        Config config;
        std::int32_t status;
        const char *word;
    } cases[] = {
        {"10/h", {}, RATECELL_EREGION_WORDS, "expected gcra"},
        {"fixed_window 10/d", {}, RATECELL_EREGION_WORDS, "words"},
        {"fixed_window 10/h & 1/s", {}, RATECELL_EREGION_LAYERS, "number of layers: 1, of `fixed_window 10/h`; expected 2"},
        {"fixed_window 10/h", {100, WhenFull::Evict}, RATECELL_EREGION_MAX_KEYS, "expected 100"},
        {"fixed_window 10/h", {0, WhenFull::Share}, RATECELL_EREGION_WHEN_FULL, "expected share"},
        {"sliding_log 10/h", {}, RATECELL_EREGION_NO_WORD, "sliding_log"},
    };
    for (const auto &given : cases) {
        const Result<Limiter, Failure> refused = Limiter::attach(memory.data(), memory.size(), given.policy, given.config);
        CHECK(!refused);
        CHECK(!*refused);
        CHECK_EQUAL(refused.error(), given.status);
        CHECK(refused.error().why().find(given.word) != std::string::npos);
    }
    CHECK_EQUAL(Limiter::attach(nullptr, 4096, "10/h").error(), RATECELL_EINVAL);
    CHECK_EQUAL(Limiter::attach(static_cast<char *>(memory.data()) + 8, 4096, "10/h").error(), RATECELL_EALIGN);
    CHECK_EQUAL(made->check_at("key", 0, 0s).remaining(), 10u);
}

void a_change_is_seen_by_all_limiters_of_the_keys() {
    const Config few{64, WhenFull::Evict};
    Memory memory(ratecell::region_size("1/s burst=10", few));
    const Limiter here = *Limiter::init(memory.data(), memory.size(), "1/s burst=10", few);
    const Limiter there = *Limiter::attach(memory.data(), memory.size(), "1/s burst=10");
    const Limiter tier = *here.with_policy("1/s burst=20");
    CHECK(here.check_at("key", 10, 0s));
    const Failure changed = here.change_at("10/s burst=10", 1s);
    CHECK(changed.ok());
    CHECK_EQUAL(changed.why(), "");
    CHECK_EQUAL(*there.policy(), "10/s burst=10");
    CHECK_EQUAL(there.check_at("key", 0, 1s).remaining(), 1u);
    CHECK_EQUAL(there.check_at("key", 0, 1900ms).remaining(), 10u);
    CHECK_EQUAL(*tier.policy(), "10/s burst=20");
    CHECK_EQUAL(tier.check_at("key", 0, 1s).remaining(), 11u);

    const Failure refused = here.change("fixed_window 10/s");
    CHECK_EQUAL(refused, RATECELL_ECHANGE);
    CHECK(refused.why().find("`fixed_window 10/s` cannot follow `10/s burst=10`") != std::string::npos);
    CHECK_EQUAL(here.change("0/s"), RATECELL_EPOLICY_ZERO_LIMIT);
    CHECK_EQUAL(here.change(nullptr), RATECELL_EINVAL);
    CHECK_EQUAL(here.change_at("5/s", -1ns), RATECELL_EINVAL);
    CHECK_EQUAL(Limiter().change("5/s"), RATECELL_EINVAL);
    CHECK_EQUAL(*here.policy(), "10/s burst=10");
    CHECK(here.change("leaky_meter 5/s capacity=10").ok());
    CHECK_EQUAL(*there.policy(), "leaky_meter 5/s capacity=10");
}

void a_file_keeps_its_keys() {
    const char *folder = std::getenv("TMPDIR");
    std::string path = std::string(folder == nullptr ? "/tmp" : folder) + "/ratecell-cpp-XXXXXX";
    const int descriptor = mkstemp(path.data());
    CHECK(descriptor >= 0);
    {
        const Result<Limiter, Failure> made = Limiter::open(path.c_str(), "10/w", {64, WhenFull::Evict});
        CHECK(made);
        CHECK_EQUAL(made->check_at("key", 4, 0s).remaining(), 6u);
    }
    CHECK_EQUAL(Limiter::open(path.c_str(), "10/w")->check_at("key", 0, 0s).remaining(), 6u);
    CHECK_EQUAL(Limiter::open(path.c_str(), "20/w").error(), RATECELL_EREGION_POLICY);
    Config differing;
    differing.follow = true;
    CHECK_EQUAL(*Limiter::open(path.c_str(), "20/w", differing)->policy(), "10/w");
    differing.change = true;
    CHECK_EQUAL(Limiter::open(path.c_str(), "20/w", differing).error(), RATECELL_ECONFIG);
    differing.follow = false;
    CHECK_EQUAL(*Limiter::open(path.c_str(), "20/w", differing)->policy(), "20/w");
    CHECK_EQUAL(*Limiter::open(path.c_str(), nullptr)->policy(), "20/w");
    CHECK_EQUAL(Limiter::open(path.c_str(), "fixed_window 10/w").error(), RATECELL_EREGION_WORDS);
    CHECK(Limiter::open(path.c_str(), "fixed_window 10/w").error().why().find("expected fixed") != std::string::npos);
    CHECK_EQUAL(Limiter::open(path.c_str(), "10/0s").error(), RATECELL_EPOLICY_ZERO_PERIOD);

    std::ofstream(path) << "a text";
    CHECK_EQUAL(Limiter::open(path.c_str(), "10/w").error(), RATECELL_EREGION_NONE);
    CHECK_EQUAL(std::remove(path.c_str()), 0);
    const Result<Limiter, Failure> nowhere = Limiter::open((path + "/none").c_str(), "10/w");
    CHECK_EQUAL(nowhere.error(), RATECELL_EFILE);
    CHECK(nowhere.error().why().find("No such file") != std::string::npos);
    CHECK_EQUAL(Limiter::open(nullptr, "10/w").error(), RATECELL_EINVAL);
}

void a_tier_is_another_policy() {
    Limiter plain("fixed_window 10/h");
    CHECK_EQUAL(plain.check_at("key", 8, 0s).remaining(), 2u);
    const Limiter gold = *plain.with_policy("fixed_window 15/h");
    CHECK_EQUAL(gold.check_at("key", 0, 0s).remaining(), 7u);
    CHECK_EQUAL(gold.check_at("key", 3, 0s).remaining(), 4u);
    CHECK_EQUAL(plain.check_at("key", 1, 0s).outcome(), ratecell::Outcome::Denied);
    CHECK_EQUAL(*gold.policy(), "fixed_window 15/h");
    plain = Limiter();
    CHECK_EQUAL(gold.check_at("key", 0, 0s).remaining(), 4u);
    CHECK_EQUAL(gold.with_policy("15/h").error(), RATECELL_EREGION_WORDS);
    CHECK(gold.with_policy("15/h").error().why().find("expected gcra") != std::string::npos);
    CHECK_EQUAL(gold.with_policy(nullptr).error(), RATECELL_EINVAL);
    CHECK_EQUAL(plain.with_policy("fixed_window 15/h").error(), RATECELL_EINVAL);
}

void a_charge_fills_and_no_more() {
    const Limiter limiter("10/h");
    const Decision first = limiter.decide(Request("key").cost(4).charge().at(0s));
    CHECK(first);
    CHECK_EQUAL(first.remaining(), 6u);
    CHECK_EQUAL(limiter.decide(Request("key").cost(400).charge().at(0s)).remaining(), 0u);
    CHECK_EQUAL(limiter.check_at("key", 1, 0s).retry_after(), 6min);
    CHECK_EQUAL(limiter.decide(Request("now").charge()).remaining(), 9u);
    CHECK_EQUAL(limiter.decide(Request("now").cost(100).charge()).remaining(), 0u);
    CHECK_EQUAL(limiter.decide(Request("key").charge().at(-1ns)).error(), RATECELL_EINVAL);
    CHECK_EQUAL(Limiter().decide(Request("key").charge()).error(), RATECELL_EINVAL);
    CHECK_EQUAL(Limiter().decide(Request("key").charge().at(0s)).error(), RATECELL_EINVAL);
}

void a_queue_is_entered_only_within_a_delay() {
    const Limiter queue("leaky_queue 10/s queue=3");
    CHECK(queue.decide(Request("key").within(0ns).at(0s)));
    const Decision late = queue.decide(Request("key").within(30ms).at(0s));
    CHECK(!late);
    CHECK_EQUAL(late.retry_after(), 70ms);
    CHECK_EQUAL(late.remaining(), 3u);
    CHECK_EQUAL(queue.decide(Request("key").within(30ms).at(70ms)).delay(), 30ms);
    CHECK(queue.decide(Request("now").within(0ns)));
    CHECK(!queue.decide(Request("now").within(0ns)));
    CHECK_EQUAL(queue.decide(Request("now").within(1h)).remaining(), 2u);
    CHECK_EQUAL(queue.decide(Request("key").within(-1ns)).error(), RATECELL_EINVAL);
    CHECK_EQUAL(queue.decide(Request("key").within(-1ns).at(0s)).error(), RATECELL_EINVAL);
    CHECK_EQUAL(queue.decide(Request("key").within(0ns).at(-1ns)).error(), RATECELL_EINVAL);
    CHECK_EQUAL(Limiter().decide(Request("key").within(0ns)).error(), RATECELL_EINVAL);
}

void without_a_policy_the_maker_s_is_followed() {
    Memory memory(ratecell::region_size("10/w burst=7"));
    CHECK_EQUAL(Limiter::attach(memory.data(), memory.size(), nullptr).error(), RATECELL_EREGION_NONE);
    CHECK_EQUAL(Limiter::init(memory.data(), memory.size(), nullptr).error(), RATECELL_EINVAL);
    const Limiter maker = *Limiter::init(memory.data(), memory.size(), "10/w burst=7");
    const Limiter follower = *Limiter::attach(memory.data(), memory.size(), nullptr);
    CHECK_EQUAL(*follower.policy(), "10/w burst=7");
    CHECK_EQUAL(maker.check_at("key", 3, 0s).remaining(), 4u);
    CHECK_EQUAL(follower.check_at("key", 0, 0s).remaining(), 4u);
    CHECK_EQUAL(Limiter::open("/nowhere/file", nullptr).error(), RATECELL_EFILE);
}

void fresh_pages_become_a_region() {
    const Config zeroed{0, WhenFull::Evict, true};
    Memory pages(ratecell_region_size("5/h", nullptr));
    const Limiter here = *Limiter::init(pages.data(), pages.size(), "5/h", zeroed);
    CHECK_EQUAL(here.check_at("key", 2, 0s).remaining(), 3u);
    const Limiter there = *Limiter::attach(pages.data(), pages.size(), "5/h");
    CHECK_EQUAL(there.check_at("key", 0, 0s).remaining(), 3u);
    CHECK_EQUAL(Limiter::init(pages.data(), 511, "5/h", zeroed).error(), RATECELL_EREGION_SMALL);
}

} // namespace

int main() {
    without_a_policy_the_maker_s_is_followed();
    fresh_pages_become_a_region();
    a_queue_is_entered_only_within_a_delay();
    one_makes_and_another_attaches();
    what_differs_is_told();
    a_change_is_seen_by_all_limiters_of_the_keys();
    a_file_keeps_its_keys();
    a_tier_is_another_policy();
    a_charge_fills_and_no_more();
    return check::end(__FILE__);
}
