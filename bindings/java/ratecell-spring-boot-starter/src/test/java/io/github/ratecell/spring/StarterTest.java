package io.github.ratecell.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.ratecell.Limiter;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.web.context.WebServerApplicationContext;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** The starter in an application with a real server. */
class StarterTest {
    /** An application of one page. */
    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    @RestController
    static class Application {
        @GetMapping("/")
        String page() {
            return "served";
        }
    }

    private static ConfigurableApplicationContext run(String... properties) {
        SpringApplication application = new SpringApplication(Application.class);
        application.setLogStartupInfo(false);
        String[] arguments = new String[properties.length + 3];
        System.arraycopy(properties, 0, arguments, 0, properties.length);
        arguments[properties.length] = "--server.port=0";
        arguments[properties.length + 1] = "--logging.level.root=off";
        arguments[properties.length + 2] = "--spring.main.banner-mode=off";
        return application.run(arguments);
    }

    private static HttpResponse<String> get(ConfigurableApplicationContext context) throws Exception {
        int port = ((WebServerApplicationContext) context).getWebServer().getPort();
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/")).build();
        return HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
    }

    @Test
    void limitsByAPolicy(@TempDir Path folder) throws Exception {
        Path limits = folder.resolve("limits");
        try (ConfigurableApplicationContext context =
                run("--ratecell.policy=2/h", "--ratecell.path=" + limits, "--ratecell.styles=x")) {
            assertEquals("served", get(context).body());
            HttpResponse<String> last = get(context);
            assertEquals("0", last.headers().firstValue("X-RateLimit-Remaining").orElseThrow());
            assertEquals(429, get(context).statusCode());
            assertEquals("2/h", context.getBean(Limiter.class).policy());
        }
        // By the policy of the file, where the units are used.
        try (ConfigurableApplicationContext context = run("--ratecell.path=" + limits)) {
            assertEquals(429, get(context).statusCode());
        }
    }

    @Test
    void limitsByRules(@TempDir Path folder) throws Exception {
        Path rules = folder.resolve("rules.toml");
        Files.writeString(rules, "ratecell_rules = 1\n[[rule]]\nname = 'site'\nkey = ['client']\nlimit = '1/h'\n");
        try (ConfigurableApplicationContext context = run("--ratecell.rules=" + rules)) {
            assertEquals(200, get(context).statusCode());
            assertEquals(429, get(context).statusCode());
        }
    }

    @Test
    void isAbsentWithoutProperties() throws Exception {
        try (ConfigurableApplicationContext context = run()) {
            assertEquals(200, get(context).statusCode());
            assertEquals(0, context.getBeansOfType(Limiter.class).size());
        }
    }

    @Test
    void whatIsWrongStopsTheStart() {
        assertStops("expected LIMIT/PERIOD", "--ratecell.policy=2 a day");
        assertStops("expected client, user, all or header:NAME", "--ratecell.policy=2/h", "--ratecell.key=cookie");
        assertStops("No such file", "--ratecell.policy=2/h", "--ratecell.path=/no/such/folder/limits");
        assertStops("No such file", "--ratecell.rules=/no/such/rules.toml");
        assertStops("expected open or closed", "--ratecell.policy=2/h", "--ratecell.fail=often");
        assertStops("no style is called", "--ratecell.policy=2/h", "--ratecell.styles=y");
    }

    private static void assertStops(String why, String... properties) {
        Throwable thrown = assertThrows(RuntimeException.class, () -> run(properties).close());
        StringBuilder texts = new StringBuilder();
        for (Throwable each = thrown; each != null; each = each.getCause()) {
            texts.append(each.getMessage()).append('\n');
        }
        assertTrue(texts.toString().contains(why), texts::toString);
    }
}
