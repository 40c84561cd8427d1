// The keys of clients.

#include "support/check.hpp"

#include <array>

using ratecell::ClientKey;
using ratecell::Clients;
using ratecell::Limiter;
using ratecell::Line;
using ratecell::Result;

namespace {

ratecell_clients_config behind_one_proxy() {
    ratecell_clients_config config = RATECELL_CLIENTS_CONFIG_INIT;
    config.field = "X-Forwarded-For";
    config.kind = static_cast<std::int32_t>(ratecell::ClientKind::List);
    config.hops = 1;
    return config;
}

void a_peer_is_the_client() {
    const Result<Clients> clients = Clients::make();
    CHECK(clients);
    CHECK_EQUAL(clients->key("[::ffff:203.0.113.7]:80")->view(), "203.0.113.7");
    CHECK_EQUAL(clients->key("")->view(), "unix");
}

void a_proxy_names_the_client() {
    const Clients clients = *Clients::make(behind_one_proxy());
    CHECK_EQUAL(clients.key("10.0.0.9", {{"Host", "a"}, {"X-Forwarded-For", "6.6.6.6, 2001:db8::3"}})->view(),
                "2001:db8::/64");
    const std::array<Line, 1> lines{Line{"x-forwarded-for", "203.0.113.7"}};
    CHECK_EQUAL(clients.key("10.0.0.9", lines.data(), lines.size())->view(), "203.0.113.7");
}

void a_key_limits() {
    const Limiter limiter = *Limiter::make("1/1h");
    const ClientKey key = *Clients::make()->key("203.0.113.7:80");
    CHECK(limiter.check(key));
    CHECK(!limiter.check("203.0.113.7"));
}

void errors_are_values() {
    ratecell_clients_config config = behind_one_proxy();
    char why[64] = "";
    config.hops = 17;
    config.why = why;
    config.why_len = sizeof why;
    CHECK_EQUAL(Clients::make(config).error(), RATECELL_ECONFIG);
    CHECK_EQUAL(std::string_view(why), "bad_hops: 17 hops of a list field: expected 1 to 16");
    const Clients none;
    CHECK(!none);
    CHECK_EQUAL(none.key("203.0.113.7").error(), RATECELL_EINVAL);
    CHECK_EQUAL(none.key("203.0.113.7")->view(), "");
}

} // namespace

int main() {
    a_peer_is_the_client();
    a_proxy_names_the_client();
    a_key_limits();
    errors_are_values();
    return check::end(__FILE__);
}
