package io.github.ratecell.servlet;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.ratecell.ClientKeys;
import io.github.ratecell.Decision;
import io.github.ratecell.Limiter;
import io.github.ratecell.Rules;
import io.github.ratecell.Style;
import jakarta.servlet.AsyncContext;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.apache.catalina.Context;
import org.apache.catalina.Wrapper;
import org.apache.catalina.startup.Tomcat;
import org.apache.tomcat.util.descriptor.web.FilterDef;
import org.apache.tomcat.util.descriptor.web.FilterMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The filter in Tomcat, asked by a client over HTTP. */
class RatecellFilterTest {
    @TempDir
    Path folder;

    private final HttpClient client = HttpClient.newHttpClient();
    private Tomcat tomcat;

    @AfterEach
    void stop() throws Exception {
        tomcat.stop();
        tomcat.destroy();
    }

    private void serve(RatecellFilter filter, HttpServlet servlet) throws Exception {
        tomcat = new Tomcat();
        tomcat.setBaseDir(folder.toString());
        tomcat.setPort(0);
        tomcat.getConnector();
        Context context = tomcat.addContext("", folder.toString());
        Wrapper wrapper = Tomcat.addServlet(context, "servlet", servlet);
        wrapper.setAsyncSupported(true);
        context.addServletMappingDecoded("/", "servlet");
        FilterDef definition = new FilterDef();
        definition.setFilterName("ratecell");
        definition.setFilter(filter);
        definition.setAsyncSupported("true");
        context.addFilterDef(definition);
        FilterMap map = new FilterMap();
        map.setFilterName("ratecell");
        map.addURLPattern("/*");
        context.addFilterMap(map);
        tomcat.start();
    }

    private HttpRequest request(String path, String... headers) {
        URI uri = URI.create("http://127.0.0.1:" + tomcat.getConnector().getLocalPort() + path);
        HttpRequest.Builder request = HttpRequest.newBuilder(uri);
        return headers.length == 0 ? request.build() : request.headers(headers).build();
    }

    private HttpResponse<String> get(String path, String... headers) throws Exception {
        return client.send(request(path, headers), HttpResponse.BodyHandlers.ofString());
    }

    private static class Serves extends HttpServlet {
        private static final long serialVersionUID = 1;

        @Override
        protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
            response.getWriter().print("served");
        }
    }

    @Test
    void refusesWhatIsTooMuch() throws Exception {
        try (Limiter limiter = Limiter.of("2/h")) {
            RatecellFilter filter = RatecellFilter.builder(limiter)
                    .clients(ClientKeys.builder().field("X-Forwarded-For").networks(List.of("127.0.0.0/8")).build())
                    .styles(List.of(Style.DRAFT11, Style.X))
                    .build();
            serve(filter, new Serves() {
                private static final long serialVersionUID = 1;

                @Override
                protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
                    Decision decision = (Decision) request.getAttribute(RatecellFilter.DECISION);
                    response.getWriter().print("served, " + decision.remaining() + " left");
                }
            });
            String[] ann = {"X-Forwarded-For", "203.0.113.7"};
            assertEquals("served, 1 left", get("/", ann).body());
            HttpResponse<String> last = get("/", ann);
            assertEquals(200, last.statusCode());
            assertEquals("0", last.headers().firstValue("X-RateLimit-Remaining").orElseThrow());
            HttpResponse<String> denied = get("/", ann);
            assertEquals(429, denied.statusCode());
            String after = denied.headers().firstValue("Retry-After").orElseThrow();
            assertTrue(Integer.parseInt(after) > 1790, after);
            assertEquals("Too many requests: retry after " + after + " s\n", denied.body());
            assertTrue(denied.headers().firstValue("RateLimit").isPresent());
            assertEquals(200, get("/", "X-Forwarded-For", "203.0.113.8").statusCode());
            assertEquals(List.of(3L, 1L, 0L, 0L), counts(filter));
        }
    }

    private static List<Long> counts(RatecellFilter filter) {
        Counts counts = filter.counts();
        return List.of(counts.allowed(), counts.denied(), counts.unlimited(), counts.faults());
    }

    @Test
    void aCostAboveTheCapacityIs413() throws Exception {
        try (Limiter limiter = Limiter.of("2/h")) {
            serve(RatecellFilter.builder(limiter).key(Keys.header("X-Key")).cost(request -> 3).build(), new Serves());
            assertEquals(413, get("/", "X-Key", "a").statusCode());
            assertEquals(200, get("/").statusCode());
        }
    }

    @Test
    void aFaultIsNoAnswerOfItsOwn() throws Exception {
        try (Limiter limiter = Limiter.of("2/h")) {
            RatecellFilter open = RatecellFilter.builder(limiter).key(request -> {
                throw new IllegalStateException("no key");
            }).build();
            serve(open, new Serves());
            assertEquals(200, get("/").statusCode());
            assertEquals(List.of(0L, 0L, 0L, 1L), counts(open));
            stop();
            RatecellFilter closed = RatecellFilter.builder(limiter).failClosed().build();
            serve(closed, new Serves());
            limiter.close();
            assertEquals(503, get("/").statusCode());
            assertEquals(List.of(0L, 0L, 0L, 1L), counts(closed));
        }
    }

    @Test
    void aPermitIsHeldUntilTheRequestHasEnded() throws Exception {
        CountDownLatch inside = new CountDownLatch(1);
        CountDownLatch leave = new CountDownLatch(1);
        try (Limiter limiter = Limiter.of("in_flight 1 hold=60s")) {
            serve(RatecellFilter.of(limiter), new HttpServlet() {
                private static final long serialVersionUID = 1;

                @Override
                protected void doGet(HttpServletRequest request, HttpServletResponse response) {
                    if (request.getRequestURI().equals("/now")) {
                        return;
                    }
                    AsyncContext context = request.startAsync();
                    context.start(() -> {
                        inside.countDown();
                        try {
                            leave.await();
                        } catch (InterruptedException interrupted) {
                            Thread.currentThread().interrupt();
                        }
                        context.complete();
                    });
                }
            });
            CompletableFuture<HttpResponse<String>> first =
                    client.sendAsync(request("/"), HttpResponse.BodyHandlers.ofString());
            inside.await();
            assertEquals(429, get("/now").statusCode());
            leave.countDown();
            assertEquals(200, first.join().statusCode());
            // The permit comes back when the container has ended the request, behind the response.
            while (limiter.peek("127.0.0.1").remaining() == 0) {
                Thread.onSpinWait();
            }
            assertEquals(200, get("/now").statusCode());
        }
    }

    @Test
    void rulesDecide() throws Exception {
        String text = "ratecell_rules = 1\nattributes = ['user']\n[[rule]]\nname = 'login'\nmatch.path = '/login'\n"
                + "key = ['user']\nlimit = '1/h'\n";
        try (Rules rules = Rules.of(text)) {
            serve(RatecellFilter.builder(rules).attributes(Map.of("user", Keys.header("X-User"))).build(), new Serves());
            assertEquals(200, get("/login", "X-User", "ann").statusCode());
            HttpResponse<String> denied = get("/login", "X-User", "ann");
            assertEquals(429, denied.statusCode());
            assertTrue(denied.headers().firstValue("RateLimit").orElseThrow().contains("login"));
            assertEquals(200, get("/login", "X-User", "bob").statusCode());
            assertEquals(200, get("/").statusCode());
            stop();
            serve(RatecellFilter.of(Limiter.of("100/s")), new Serves());
        }
    }

    @Test
    void aFieldOfSeveralLinesIsOneValue() throws Exception {
        String text = "ratecell_rules = 1\n[[rule]]\nname = 'tools'\nmatch.'header:x-tool' = '*robot'\n"
                + "key = ['client']\nlimit = 'blocked'\n";
        try (Rules rules = Rules.of(text)) {
            serve(RatecellFilter.builder(rules).build(), new Serves());
            assertEquals(200, get("/", "X-Tool", "person").statusCode());
            assertEquals(403, get("/", "X-Tool", "robot").statusCode());
            assertEquals(403, get("/", "X-Tool", "person", "X-Tool", "robot").statusCode());
        }
    }

    @Test
    void refusesWhatNoFilterCanHave() throws Exception {
        try (Limiter limiter = Limiter.of("2/h");
                Limiter zoned = Limiter.of("calendar_window 1/day tz=caller")) {
            serve(RatecellFilter.of(limiter), new Serves());
            assertThrows(IllegalArgumentException.class, () -> RatecellFilter.builder(limiter).status(200).build());
            assertThrows(IllegalArgumentException.class, () -> RatecellFilter.of(zoned));
            assertThrows(IllegalArgumentException.class, () -> Keys.header("X Key"));
            assertThrows(IllegalArgumentException.class, () -> Keys.named("cookie", ClientKeys.ofPeers()));
            assertThrows(IllegalArgumentException.class, () -> RatecellFilter.builder(limiter)
                    .styles(List.of(Style.DRAFT11, Style.DRAFT07)).build());
        }
    }
}
