package io.github.ratecell.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.ratecell.Limiter;
import java.io.StringReader;
import java.lang.reflect.RecordComponent;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Properties;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.tools.JavaCompiler;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Compiles and runs what the README shows. The first program is ci/jars.sh's. */
class ReadmeTest {
    private static final String IMPORTS = "import io.github.ratecell.*; import io.github.ratecell.servlet.*;"
            + " import java.nio.file.*; import java.time.*; import java.util.*;\n";

    private static String readme() throws Exception {
        return page("bindings/java/README.md");
    }

    private static String page(String path) throws Exception {
        return Files.readString(Path.of(System.getProperty("ratecell.sources"), path));
    }

    private static List<String> blocks(String language) throws Exception {
        return blocks(readme(), language);
    }

    private static List<String> blocks(String page, String language) {
        Matcher matcher = Pattern.compile("(?ms)^```" + language + "\n(.*?)^```$").matcher(page);
        List<String> blocks = new ArrayList<>();
        while (matcher.find()) {
            blocks.add(matcher.group(1));
        }
        return blocks;
    }

    private static void compile(Path folder, String name, String block) throws Exception {
        Path source = folder.resolve(name + ".java");
        Files.writeString(source, IMPORTS + "public class " + name + " { public static void run() throws Exception {\n" + block
                + "} }\n");
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        int code = compiler.run(null, null, null, "-cp", System.getProperty("java.class.path"), "-d", folder.toString(),
                source.toString());
        assertEquals(0, code, block);
    }

    /** It opens a file in /run. */
    @Test
    void theProjectsPageCompiles(@TempDir Path folder) throws Exception {
        List<String> blocks = blocks(page("README.md"), "java");
        assertEquals(1, blocks.size());
        compile(folder, "Project", blocks.get(0));
    }

    @Test
    void programsRun(@TempDir Path folder) throws Exception {
        List<String> blocks = blocks("java");
        assertEquals(7, blocks.size());
        for (int i = 1; i < blocks.size(); i++) {
            String name = "Snippet" + i;
            compile(folder, name, blocks.get(i));
            try (URLClassLoader loader =
                    new URLClassLoader(new URL[] {folder.toUri().toURL()}, Limiter.class.getClassLoader())) {
                loader.setDefaultAssertionStatus(true);
                loader.loadClass(name).getMethod("run").invoke(null);
            }
        }
    }

    @Test
    void propertiesAreThoseOfTheStarter() throws Exception {
        TreeSet<String> known = new TreeSet<>();
        for (RecordComponent component : RatecellProperties.class.getRecordComponents()) {
            known.add(component.getName().replaceAll("([A-Z])", "-$1").toLowerCase(Locale.ROOT));
        }
        TreeSet<String> listed = new TreeSet<>();
        Matcher rows = Pattern.compile("(?m)^\\| (`.*?`) \\|").matcher(readme());
        while (rows.find()) {
            Arrays.stream(rows.group(1).split("`[, ]*`|`")).filter(name -> !name.isBlank()).forEach(listed::add);
        }
        assertEquals(known, listed);
        Properties shown = new Properties();
        shown.load(new StringReader(blocks("properties").get(0)));
        shown.stringPropertyNames().forEach(name -> assertTrue(known.contains(name.replaceFirst("ratecell.", "")), name));
    }
}
