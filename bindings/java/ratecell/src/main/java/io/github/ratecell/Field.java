package io.github.ratecell;

/**
 * A field of an HTTP response.
 *
 * @param name its name
 * @param value its value
 */
public record Field(String name, String value) {
    static Field read(Reply reply) {
        String name = reply.text();
        return new Field(name, reply.text());
    }
}
