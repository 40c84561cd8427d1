// Limits by a file of rules.

#include "support/check.hpp"

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

using namespace std::chrono_literals;
using ratecell::Attribute;
using ratecell::Config;
using ratecell::Failure;
using ratecell::Outcome;
using ratecell::Result;
using ratecell::Rules;
using ratecell::RulesDecision;
using ratecell::Style;

namespace {

constexpr std::string_view file = R"(
ratecell_rules = 1
attributes = ["user"]
unclear_path = "refuse"

[[rule]]
name = "site"
key = []
limit = "10/m"

[[rule]]
name = "login"
match.path = "/login"
match.method = "POST"
key = ["client"]
limit = "2/m"

[[rule]]
name = "closed"
match.user = "mallory"
key = []
limit = "blocked"

[[rule]]
name = "tighter"
match.user = true
key = ["user"]
limit = "1/m"
mode = "shadow"
)";

const Config few{100, ratecell::WhenFull::Evict};

const std::array<Attribute, 3> login{{{"method", "POST"}, {"path", "/login"}, {"client", "203.0.113.7"}}};

/// The file with another text in place of the first one.
std::string with(std::string_view from, std::string_view to) {
    std::string text(file);
    return text.replace(text.find(from), from.size(), to);
}

static_assert(noexcept(std::declval<const Rules &>().decide(login)));
static_assert(noexcept(std::declval<const Rules &>().decide({{"path", "/"}})));
static_assert(noexcept(std::declval<const Rules &>().decide_at(login, std::declval<check::Time>())));

void all_are_charged_or_none() {
    const Rules rules(file, few);
    for (std::uint64_t left : {1u, 0u}) {
        const RulesDecision decision = rules.decide_at(login, 0s);
        CHECK(decision);
        CHECK(decision.error().ok());
        CHECK(decision.outcome() == Outcome::Allowed);
        CHECK_EQUAL(decision.rule(), "login");
        CHECK_EQUAL(decision.limit(), 2u);
        CHECK_EQUAL(decision.remaining(), left);
        CHECK_EQUAL(decision.retry_after(), 0s);
        CHECK_EQUAL(decision.delay(), 0s);
        CHECK_EQUAL(decision.claims(), 2u);
        CHECK_EQUAL(decision.claim(0).limit(), 10u);
        CHECK_EQUAL(decision.claim(1).remaining(), left);
        CHECK_EQUAL(decision.claim(2).error(), RATECELL_EINVAL);
    }
    const RulesDecision denied = rules.decide_at(login, 0s);
    CHECK(!denied);
    CHECK(denied.outcome() == Outcome::Denied);
    CHECK_EQUAL(denied.rule(), "login");
    CHECK_EQUAL(denied.retry_after(), 30s);
    CHECK_EQUAL(denied.reset_after(), 1min);
    // The refused request was not charged to the site.
    const RulesDecision other = rules.decide_at({{"path", "/"}}, 0s);
    CHECK_EQUAL(other.rule(), "site");
    CHECK_EQUAL(other.remaining(), 7u);
    CHECK_EQUAL(rules.decide_at(nullptr, 0, 0s).remaining(), 6u);
    const RulesDecision never = rules.decide_at({{"path", "/"}, {"user", "mallory"}}, 0s);
    CHECK(never.outcome() == Outcome::Never);
    CHECK_EQUAL(never.rule(), "closed");
    CHECK(!never.retry_after());
    CHECK(rules.decide_at(login, 31s));
}

void now_is_the_clock_s() {
    const Rules rules(with("2/m", "fixed_window 2/365d"), few);
    CHECK(rules.decide(login));
    CHECK(rules.decide(login.data(), login.size()));
    CHECK(!rules.decide({{"method", "POST"}, {"path", "/login"}, {"client", "203.0.113.7"}}));
}

void an_unclear_path_is_refused() {
    const Rules rules(file, few);
    const RulesDecision decision = rules.decide({{"path", "/%61/../b"}});
    CHECK(!decision);
    CHECK(decision.outcome() == Outcome::UnclearPath);
    CHECK(decision.error().ok());
    CHECK_EQUAL(decision.rule(), "");
    CHECK_EQUAL(decision.claims(), 0u);
}

void shadows_refuse_nothing() {
    const Rules rules(file, few);
    for (const Outcome outcome : {Outcome::Allowed, Outcome::Denied}) {
        const RulesDecision made = rules.decide_at({{"path", "/"}, {"user", "ann"}}, 0s);
        RulesDecision decision;
        CHECK_EQUAL(decision.error(), RATECELL_EINVAL);
        decision = made;
        CHECK(decision);
        CHECK_EQUAL(decision.shadows(), 1u);
        CHECK_EQUAL(decision.shadow(0).rule, "tighter");
        CHECK(decision.shadow(0).outcome == outcome);
        CHECK(decision.shadow(1).outcome == Outcome::Failed);
    }
}

void more_shadows_than_are_kept() {
    std::string text = "ratecell_rules = 1\n";
    for (int i = 0; i < 70; i++) {
        text += "[[rule]]\nname = 's" + std::to_string(i) + "'\nkey = []\nlimit = '1/m'\nmode = 'shadow'\n";
    }
    const Rules rules(text, few);
    const RulesDecision decision = rules.decide_at(nullptr, 0, 0s);
    CHECK_EQUAL(decision.raw().n_shadows, 70u);
    CHECK_EQUAL(decision.shadows(), RulesDecision::most);
    CHECK_EQUAL(decision.shadow(63).rule, "s63");
    CHECK(decision.shadow(64).outcome == Outcome::Failed);
}

void the_fields_name_the_rules() {
    const Rules rules(file, few);
    const RulesDecision decision = rules.decide_at(login, 0s);
    const std::string lines = "RateLimit-Policy: \"site\";q=10;w=60, \"login\";q=2;w=60\n"
                              "RateLimit: \"site\";r=9;t=6, \"login\";r=1;t=30\n";
    CHECK_EQUAL(*rules.fields(Style::Draft11, decision), lines);
    char buffer[256];
    const auto wall = std::chrono::system_clock::now();
    CHECK_EQUAL(*rules.fields(Style::Draft11, decision, wall, buffer, sizeof buffer), lines);
    CHECK_EQUAL(rules.fields(Style::Draft11, decision, wall, buffer, lines.size()).error(), RATECELL_ENOSPC);
    CHECK_EQUAL(rules.fields(Style::Draft11, decision, wall, nullptr, 0).error(), RATECELL_ENOSPC);
    CHECK_EQUAL(rules.fields(Style::X | Style::GitHub, decision).error(), RATECELL_EINVAL);
    CHECK_EQUAL(rules.fields(Style::X, decision, std::chrono::system_clock::time_point(-1s)).error(), RATECELL_EINVAL);
    CHECK_EQUAL(*rules.fields(Style::Draft11, RulesDecision()), "");
    CHECK(rules.change(file).ok());
    CHECK_EQUAL(*rules.fields(Style::Draft11, decision), "");
}

void a_change_keeps_what_stays() {
    const Rules rules(with("2/m", "fixed_window 2/365d"), few);
    CHECK(rules.decide_at(login, 0s));
    const Failure refused = rules.change(with("\"2/m\"", "\"0/m\""));
    CHECK_EQUAL(refused, RATECELL_ERULES);
    CHECK(refused.why().find("rule login, limit: bad_policy: `0/m`: zero_limit ") != std::string::npos);
    CHECK_EQUAL(rules.decide_at(login, 0s).remaining(), 0u);
    const Failure changed = rules.change(with("2/m", "fixed_window 5/365d"));
    CHECK(changed.ok());
    CHECK_EQUAL(changed.why(), "");
    // With another limit, too, a rule goes on with what it has counted.
    CHECK_EQUAL(rules.decide_at(login, 0s).remaining(), 2u);
    CHECK_EQUAL(rules.decide_at({{"path", "/"}}, 0s).remaining(), 6u);
    CHECK(rules.change_at(with("2/m", "fixed_window 7/365d"), 0s).ok());
    CHECK_EQUAL(rules.decide_at(login, 0s).remaining(), 3u);
    CHECK_EQUAL(rules.change_at(file, -1s), RATECELL_EINVAL);
}

void what_is_held_is_counted() {
    const Rules rules(file, few);
    CHECK_EQUAL(rules.stats()->live, 0u);
    CHECK(rules.decide_at(login, 0s));
    CHECK(rules.decide_at({{"method", "POST"}, {"path", "/login"}, {"client", "203.0.113.8"}}, 0s));
    const Result<ratecell::Stats> stats = rules.stats_at(0s);
    CHECK(stats);
    CHECK_EQUAL(stats->live, 3u);
    CHECK(stats->slots >= 100);
    CHECK_EQUAL(stats->evicted, 0u);
    CHECK_EQUAL(rules.stats_at(10min)->live, 0u);
    CHECK_EQUAL(rules.stats_at(-1ns).error(), RATECELL_EINVAL);
    CHECK_EQUAL(Rules().stats().error(), RATECELL_EINVAL);
}

/// How many requests are allowed at once, of at most so many.
int admitted(const Rules &rules, int most) {
    int count = 0;
    while (count < most && rules.decide_at({{"path", "/"}}, 0s)) {
        count++;
    }
    return count;
}

void those_beside_each_other_share_what_stays() {
    const std::string longer = with("match.path = \"/login\"", "match.path = [\"/login\", \"/sign-in\"]");
    Rules old(file, few);
    CHECK_EQUAL(admitted(old, 3), 3);
    const Result<Rules, Failure> made = old.beside(longer);
    CHECK(made);
    const Rules &other = *made;
    CHECK_EQUAL(admitted(other, 4), 4);
    CHECK_EQUAL(admitted(old, 2), 2);
    CHECK_EQUAL(other.decide_at({{"path", "/"}}, 0s).remaining(), 0u);
    // The tables go on with the one that is left.
    old = Rules();
    CHECK_EQUAL(admitted(other, 100), 0);
    CHECK_EQUAL(other.beside("rule = 1").error(), RATECELL_ERULES);
    CHECK_EQUAL(other.beside("rule = 1").error().why().find("line 1: "), 0u);
    CHECK_EQUAL(old.beside(file).error(), RATECELL_EINVAL);
}

/// The limit is that of parent and child together, or of each.
void those_that_are_forked_off_share_the_tables(bool forked) {
    Config config = few;
    config.forked = forked;
    Rules rules(file, config);
    CHECK_EQUAL(admitted(rules, 3), 3);
    const pid_t child = fork();
    if (child == 0) {
        const bool right = admitted(rules, 4) == 4;
        rules = Rules();
        _exit(right ? 0 : 1);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_EQUAL(status, 0);
    const Result<Rules, Failure> newer = rules.beside(with("\"2/m\"", "\"5/m\""));
    CHECK(newer);
    CHECK_EQUAL(admitted(*newer, 100), forked ? 3 : 7);
    CHECK_EQUAL(ratecell::Limiter::make("1/s", config).error(), forked ? RATECELL_ECONFIG : RATECELL_ALLOWED);
}

void errors_are_values() {
    const Result<Rules, Failure> refused = Rules::make("rule = 1");
    CHECK(!refused);
    CHECK_EQUAL(refused.error(), RATECELL_ERULES);
    CHECK_EQUAL(refused.error().why().find("line 1: ratecell_rules: missing_field: "), 0u);
    CHECK(!*refused);
    CHECK_EQUAL(Rules::make({}).error(), RATECELL_ERULES);
    Config zeroed;
    zeroed.zeroed = true;
    CHECK_EQUAL(Rules::make(file, zeroed).error(), RATECELL_ECONFIG);
    Rules rules(file, few);
    CHECK_EQUAL(rules.decide_at(login, -1ns).error(), RATECELL_EINVAL);
    const Rules taken = std::move(rules);
    CHECK(taken.decide(login));
    const Rules none;
    CHECK(!none);
    CHECK(none.get() == nullptr);
    const RulesDecision failed = none.decide(login);
    CHECK(!failed);
    CHECK(failed.outcome() == Outcome::Failed);
    CHECK_EQUAL(failed.error(), RATECELL_EINVAL);
    CHECK(!failed.retry_after());
    CHECK_EQUAL(none.change(file), RATECELL_EINVAL);
    CHECK_EQUAL(none.fields(Style::X, failed).error(), RATECELL_EINVAL);
    try {
        const Rules thrown("rule = 1");
        CHECK(false);
    } catch (const ratecell::Error &error) {
        CHECK_EQUAL(error.code(), RATECELL_ERULES);
        CHECK(std::string_view(error.what()).find("missing_field") != std::string_view::npos);
    }
}

// Each request is decided by one of two files, and what both have in common is counted across all changes.
void a_file_changes_under_load() {
    const Rules rules(with("10/m", "fixed_window 100/1h"), few);
    std::atomic<int> allowed{0}, odd{0}, running{2};
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; i++) {
        threads.emplace_back([&] {
            for (int k = 0; k < 500; k++) {
                const RulesDecision decision = rules.decide_at({{"path", "/"}}, 0s);
                allowed += decision ? 1 : 0;
                odd += decision.rule() == "site" ? 0 : 1;
            }
            running--;
        });
    }
    int failures = 0;
    do {
        for (const char *name : {"\"sign-in\"", "\"login\""}) {
            std::string text = with("10/m", "fixed_window 100/1h");
            failures += rules.change(text.replace(text.find("\"login\""), 7, name)).ok() ? 0 : 1;
        }
    } while (running > 0);
    for (std::thread &thread : threads) {
        thread.join();
    }
    CHECK_EQUAL(failures, 0);
    CHECK_EQUAL(allowed.load(), 100);
    CHECK_EQUAL(odd.load(), 0);
}

void those_that_name_a_file_have_its_limits_in_common() {
    std::string path = "/tmp/ratecell-rules-XXXXXX";
    const int descriptor = mkstemp(path.data());
    CHECK(descriptor >= 0);
    close(descriptor);
    Config in_file = few;
    in_file.file = path.c_str();
    const Rules here(file, in_file), there(file, in_file);
    CHECK(here.decide_at(login, 0s));
    CHECK(there.decide_at(login, 0s));
    CHECK(!here.decide_at(login, 0s));

    const std::string other = with("2/m", "3/m");
    CHECK_EQUAL(Rules::make(other, in_file).error(), RATECELL_EREGION_POLICY);
    in_file.follow = true;
    CHECK(!Rules(other, in_file).decide_at(login, 0s));
    in_file.follow = false;
    in_file.change = true;
    CHECK(Rules::make(other, in_file));
    unlink(path.c_str());
}

} // namespace

int main() {
    all_are_charged_or_none();
    now_is_the_clock_s();
    an_unclear_path_is_refused();
    shadows_refuse_nothing();
    more_shadows_than_are_kept();
    the_fields_name_the_rules();
    a_change_keeps_what_stays();
    what_is_held_is_counted();
    those_beside_each_other_share_what_stays();
    those_that_are_forked_off_share_the_tables(true);
    those_that_are_forked_off_share_the_tables(false);
    those_that_name_a_file_have_its_limits_in_common();
    errors_are_values();
    a_file_changes_under_load();
    return check::end(__FILE__);
}
