package io.github.ratecell;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/**
 * Finds and loads the native library: the file that the system property {@code ratecell.library} names, otherwise the one
 * in the jar for this platform, which is copied to a temporary file.
 */
final class Library {
    static final String PROPERTY = "ratecell.library";
    private static final String FOLDER = "/ratecell/native/";
    private static final String FILE = "libratecell_java.so";

    private Library() {}

    /** The library, once it is loaded and known to be of this jar's version. */
    static Native load() {
        String given = System.getProperty(PROPERTY);
        if (given != null) {
            System.load(Path.of(given).toAbsolutePath().toString());
        } else {
            loadFromJar(platform(System.getProperty("os.name"), System.getProperty("os.arch"), usesMusl()));
        }
        Native library = new Jni();
        Reply about = Reply.of(library.call(Operation.LIBRARY.ordinal(), new byte[0]));
        String version = about.text();
        List<String> names = about.several(Reply::text);
        List<String> expected = new ArrayList<>();
        for (Operation operation : Operation.values()) {
            expected.add(operation.name());
        }
        if (!names.equals(expected)) {
            throw new UnsatisfiedLinkError(
                    "the native library is of ratecell " + version + " and has other operations than this jar: expected one"
                            + " that was built with it");
        }
        return library;
    }

    /** The name of a platform, as the folders in the jar have it. */
    static String platform(String system, String processor, boolean musl) {
        String os = system.toLowerCase(Locale.ROOT).replace(" ", "");
        String arch =
                switch (processor.toLowerCase(Locale.ROOT)) {
                    case "amd64", "x86_64" -> "x86_64";
                    case "arm64", "aarch64" -> "aarch64";
                    default -> processor.toLowerCase(Locale.ROOT);
                };
        return os.equals("linux") ? "linux-" + arch + (musl ? "-musl" : "-gnu") : os + "-" + arch;
    }

    /** The error that says which libraries there are, and how another is built. */
    static UnsatisfiedLinkError missing(String platform, List<String> present) {
        return new UnsatisfiedLinkError(
                "this jar has no native library for "
                        + platform
                        + ": it has those for "
                        + (present.isEmpty() ? "no platform" : String.join(", ", present))
                        + ". To build one, run `cargo build --release` in bindings/java/native of ratecell's sources, and"
                        + " start Java with -D"
                        + PROPERTY
                        + "=FILE, the path of "
                        + FILE);
    }

    /** The platforms whose libraries the jar has. */
    static List<String> present() {
        try (InputStream list = Library.class.getResourceAsStream(FOLDER + "platforms")) {
            if (list == null) {
                return List.of();
            }
            BufferedReader lines = new BufferedReader(new InputStreamReader(list, StandardCharsets.UTF_8));
            return lines.lines().filter(line -> !line.isBlank()).collect(Collectors.toList());
        } catch (IOException error) {
            return List.of();
        }
    }

    private static void loadFromJar(String platform) {
        try (InputStream library = Library.class.getResourceAsStream(FOLDER + platform + "/" + FILE)) {
            if (library == null) {
                throw missing(platform, present());
            }
            Path copy = Files.createTempFile("libratecell_java-", ".so");
            try {
                Files.copy(library, copy, StandardCopyOption.REPLACE_EXISTING);
                System.load(copy.toString());
            } finally {
                // What is loaded stays mapped.
                Files.deleteIfExists(copy);
            }
        } catch (IOException error) {
            UnsatisfiedLinkError failed = new UnsatisfiedLinkError(
                    "the native library cannot be copied to " + System.getProperty("java.io.tmpdir") + ": " + error
                            + "; expected a folder for temporary files (-Djava.io.tmpdir=), or -D" + PROPERTY + "=FILE");
            failed.initCause(error);
            throw failed;
        }
    }

    /** Whether the C library of this process is musl. */
    private static boolean usesMusl() {
        try {
            return Files.readString(Path.of("/proc/self/maps")).contains("/ld-musl-");
        } catch (IOException error) {
            return false;
        }
    }
}
