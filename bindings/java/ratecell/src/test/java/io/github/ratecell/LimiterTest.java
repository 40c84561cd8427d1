package io.github.ratecell;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LimiterTest {
    @Test
    void decidesWhatItsPolicySays() {
        try (Limiter limiter = Limiter.builder("3/s").maxKeys(100).build()) {
            assertEquals(0, limiter.checkAt("user:44", 3, 0).remaining());
            Decision denied = limiter.checkAt("user:44", 1, 0);
            assertFalse(denied.isAllowed());
            assertEquals(Optional.of(Duration.ofNanos(333_333_334)), denied.retryAfter());
            assertEquals(Outcome.DENIED, limiter.checkAt("user:44", 1, 333_333_333).outcome());
            assertEquals(Outcome.ALLOWED, limiter.checkAt("user:44", 1, 333_333_334).outcome());
            Decision never = limiter.checkAt("user:45", 4, 0);
            assertEquals(Outcome.NEVER, never.outcome());
            assertEquals(Optional.empty(), never.retryAfter());
            assertEquals(3, never.limit());
        }
    }

    @Test
    void decisionsAreValues() {
        try (Limiter one = Limiter.of("3/s");
                Limiter other = Limiter.of("3/s")) {
            assertEquals(one.checkAt("a", 1, 0), other.checkAt("b", 1, 0));
            assertEquals(one.checkAt("a", 1, 0).hashCode(), other.checkAt("b", 1, 0).hashCode());
            assertNotEquals(one.checkAt("a", 1, 0), other.checkAt("c", 1, 0));
        }
    }

    @Test
    void keysAreBytes() {
        try (Limiter limiter = Limiter.of("1/h")) {
            String wide = "ключ€\uD83D\uDD11";
            assertTrue(limiter.check(wide).isAllowed());
            assertFalse(limiter.check(wide.getBytes(StandardCharsets.UTF_8)).isAllowed());
            assertTrue(limiter.check("").isAllowed());
            assertFalse(limiter.check(new byte[0]).isAllowed());
            for (int length : new int[] {1, 439, 440, 441, 100_000}) {
                String key = "k".repeat(length);
                assertTrue(limiter.check(key).isAllowed());
                assertFalse(limiter.check(key).isAllowed());
                assertTrue(limiter.check(key.substring(1) + "x").isAllowed());
            }
            assertThrows(NullPointerException.class, () -> limiter.check((String) null));
        }
    }

    @Test
    void requestsHaveOptions() {
        try (Limiter queue = Limiter.of("leaky_queue 10/s queue=5");
                Limiter limiter = Limiter.of("3/s")) {
            assertEquals(Duration.ZERO, queue.decide(Request.of("mail").at(0).within(Duration.ZERO)).delay());
            Decision refused = queue.decide(Request.of("mail").at(0).within(Duration.ZERO));
            assertEquals(Optional.of(Duration.ofMillis(100)), refused.retryAfter());
            assertEquals(Duration.ofMillis(100), queue.decide(Request.of("mail").at(0)).delay());
            assertEquals(1, limiter.decide(Request.of("bytes").cost(2).at(0).charge()).remaining());
            assertEquals(0, limiter.decide(Request.of("bytes").cost(9).at(0).charge()).remaining());
            assertEquals(
                    Optional.of(Duration.ofNanos(333_333_334)),
                    limiter.decide(Request.of("next").at(0).withNext()).nextAfter());
            assertEquals(Optional.empty(), limiter.decide(Request.of("next").at(0)).nextAfter());
            assertThrows(IllegalArgumentException.class, () -> Request.of("a").charge().within(Duration.ZERO));
        }
    }

    @Test
    void decidesSeveral() {
        try (Limiter limiter = Limiter.of("2/h");
                Limiter other = Limiter.of("1/h")) {
            List<Decision> decisions =
                    limiter.decideMany(List.of(Request.of("a"), Request.of("a"), Request.of("a"), Request.of("b")));
            assertEquals(List.of(true, true, false, true), decisions.stream().map(Decision::isAllowed).toList());
            List<Claim> claims = List.of(new Claim(limiter, Request.of("c")), new Claim(other, Request.of("c")));
            assertTrue(Limiter.decideAll(claims).isAllowed());
            Joint denied = Limiter.decideAll(claims);
            assertEquals(Outcome.DENIED, denied.outcome());
            assertEquals(1, limiter.peek("c").remaining());
            assertEquals(List.of(), limiter.decideMany(List.of()));
        }
    }

    @Test
    void holdsWhatIsSettledLater() {
        try (Limiter tokens = Limiter.of("90000/h");
                Limiter jobs = Limiter.of("in_flight 2 hold=60s")) {
            try (Reservation reservation = tokens.reserve("org:7", 4000)) {
                assertEquals(4000, reservation.cost());
                assertTrue(reservation.settle(1000).remaining() >= 89_000);
                assertThrows(IllegalStateException.class, () -> reservation.settle(1000));
            }
            try (Reservation one = jobs.reserve("ann", 1);
                    Reservation two = jobs.reserve("ann", 1)) {
                assertTrue(one.isAllowed() && two.renew().isAllowed());
                try (Reservation three = jobs.reserve("ann", 1)) {
                    assertFalse(three.isAllowed());
                    assertThrows(IllegalStateException.class, three::toBytes);
                }
                Reservation copy = Reservation.fromBytes(jobs, one.toBytes());
                assertEquals(1, copy.release().givenBack());
                assertTrue(jobs.reserve("ann", 1).isAllowed());
            }
            assertThrows(IllegalArgumentException.class, () -> Reservation.fromBytes(jobs, new byte[3]));
        }
    }

    @Test
    void changesItsPolicy() {
        try (Limiter limiter = Limiter.of("2/h")) {
            limiter.checkAt("a", 2, 0);
            limiter.change("5/h");
            assertEquals("5/h", limiter.policy());
            assertEquals(5, limiter.capacity());
            PolicyException refused = assertThrows(PolicyException.class, () -> limiter.change("fixed_window 5/1h"));
            assertEquals("different_table", refused.code());
            assertTrue(limiter.forget("a"));
            assertEquals(5, limiter.peek("a").remaining());
        }
    }

    @Test
    void builderSaysThePolicy() {
        Policy policy = Policy.builder()
                .limit(100, Duration.ofSeconds(1))
                .burst(200)
                .slidingWindow(1000, Duration.ofHours(1))
                .tokenBucket(5, Duration.ofSeconds(10), 10)
                .fixedWindow(10_000, Duration.ofDays(1))
                .inFlight(10, Duration.ofMinutes(1))
                .build();
        try (Limiter limiter = Limiter.of(policy)) {
            assertEquals(
                    "100/s burst=200 & sliding_window 1000/h & token_bucket 5/10s capacity=10 & fixed_window 10000/d"
                            + " & in_flight 10 hold=1m",
                    limiter.policy());
        }
        assertThrows(IllegalStateException.class, () -> Policy.builder().burst(3));
        assertThrows(IllegalStateException.class, () -> Policy.builder().build());
        assertThrows(IllegalArgumentException.class, () -> Policy.builder().limit(0, Duration.ofSeconds(1)));
    }

    @Test
    void refusesWhatNoLimiterCanHave(@TempDir Path folder) {
        PolicyException policy = assertThrows(PolicyException.class, () -> Limiter.of("2 a day"));
        assertEquals("syntax", policy.code());
        assertEquals(3, policy.column().orElseThrow());
        assertTrue(policy.getMessage().contains("expected LIMIT/PERIOD"));
        UncheckedIOException file = assertThrows(
                UncheckedIOException.class, () -> Limiter.builder("1/s").path(folder.resolve("no/file")).build());
        assertTrue(file.getCause() instanceof NoSuchFileException);
        Path limits = folder.resolve("limits");
        Limiter.builder("1/s").path(limits).build().close();
        IllegalArgumentException other = assertThrows(
                IllegalArgumentException.class, () -> Limiter.builder("fixed_window 1/1h").path(limits).build());
        assertTrue(other.getMessage().contains("fixed_window"), other.getMessage());
        try (Limiter follows = Limiter.following().path(limits).build()) {
            assertEquals("1/s", follows.policy());
            assertThrows(IllegalArgumentException.class, () -> follows.check("a", -1));
            assertThrows(IllegalArgumentException.class, () -> follows.check("a", 1L << 32));
            assertTrue(follows.toString().contains("1/s"));
        }
        assertThrows(IllegalStateException.class, () -> Limiter.following().build());
        assertThrows(IllegalArgumentException.class, () -> Limiter.builder("1/s").maxKeys(0));
    }

    @Test
    void zonesAreTheLimitersOwn() {
        try (Limiter days = Limiter.builder("calendar_window 1/day tz=caller").build();
                Limiter months = Limiter.of("calendar_window 1/month tz=caller")) {
            assertTrue(days.asksForZone());
            assertTrue(days.check("a").isWithoutZone());
            Zone tokyo = days.zone("asia/tokyo");
            assertEquals("Asia/Tokyo", tokyo.name());
            assertTrue(days.decide(Request.of("a").zone(tokyo)).isAllowed());
            assertThrows(IllegalArgumentException.class, () -> months.decide(Request.of("a").zone(tokyo)));
            assertThrows(PolicyException.class, () -> days.zone("Asia/Nowhere"));
        }
    }

    @Test
    void rulesDecide() {
        String text = "ratecell_rules = 1\n[[rule]]\nname = 'login'\nmatch.path = '/login'\nkey = ['client']\nlimit = '1/h'\n";
        try (Rules rules = Rules.builder(text).maxKeys(100).epoch(Instant.EPOCH).build()) {
            Map<String, String> login = Map.of("path", "/login", "client", "203.0.113.7");
            assertTrue(rules.decide(login).isAllowed());
            RulesDecision denied = rules.decide(login, List.of(Style.DRAFT11));
            assertEquals("login", denied.rule().orElseThrow());
            assertTrue(denied.fields().stream().anyMatch(field -> field.name().equals("Retry-After")), denied.fields()::toString);
            assertTrue(rules.decide(Map.of("path", "/")).isAllowed());
            assertEquals(List.of("login"), rules.names());
            rules.change(text.replace("1/h", "5/h"));
            assertTrue(rules.decide(login).isAllowed());
            RulesException refused = assertThrows(RulesException.class, () -> rules.change(text.replace("1/h", "often")));
            assertEquals("login", refused.rule().orElseThrow());
            assertTrue(refused.line().isPresent());
        }
        String held = text.replace("'1/h'", "'in_flight 1 hold=60s'");
        assertThrows(IllegalArgumentException.class, () -> Rules.of(held));
        try (Rules rules = Rules.builder(held).reserving().build()) {
            Map<String, String> login = Map.of("path", "/login", "client", "203.0.113.7");
            try (Rules.Reservation one = rules.reserve(login, List.of())) {
                assertTrue(one.isAllowed());
                assertFalse(rules.reserve(login, List.of()).isAllowed());
            }
            assertTrue(rules.reserve(login, List.of()).isAllowed());
            assertThrows(IllegalArgumentException.class, () -> rules.decide(login));
        }
    }

    @Test
    void saysWhichLibrariesThereAre() {
        assertEquals("linux-x86_64-gnu", Library.platform("Linux", "amd64", false));
        assertEquals("linux-aarch64-musl", Library.platform("Linux", "aarch64", true));
        assertEquals("macosx-aarch64", Library.platform("Mac OS X", "aarch64", false));
        String text = Library.missing("macosx-aarch64", Library.present()).getMessage();
        assertTrue(text.contains("no native library for macosx-aarch64: it has those for linux-"), text);
        assertTrue(text.contains("cargo build --release"), text);
    }
}
