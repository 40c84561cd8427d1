package io.github.ratecell;

import java.lang.ref.Reference;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

/**
 * Knows the clients of requests: one key for each, the same text in every language and program of ratecell.
 *
 * <p>A key is an IPv4 address ("203.0.113.7"), a network of IPv6 ("2001:db8:1:2::/64"), "unix" for all peers on Unix sockets, or
 * "unknown" for all whose address cannot be read. It is never text that a client has written. Threads may share it.
 */
public final class ClientKeys {
    private final Handle handle;
    private final String field;

    private ClientKeys(Builder of) {
        Message message = new Message().u32(of.v4Width).u32(of.v6Width);
        message.maybe(of.field, (to, name) -> to.bytes(latin(name))).text(of.kind).maybe(of.hops, Message::u32);
        message.maybe(of.networks, (to, all) -> to.several(all, (each, network) -> each.bytes(latin(network))));
        handle = new Handle(message.call(Operation.CLIENTS_MAKE).u64(), Operation.CLIENTS_FREE);
        field = of.field;
    }

    /** Clients are the peers of connections: no proxy is trusted. */
    public static ClientKeys ofPeers() {
        return builder().build();
    }

    /** Clients, by what of a request is trusted. */
    public static Builder builder() {
        return new Builder();
    }

    /** The name of the field in which proxies name the client; null where the peer is the client. */
    public String field() {
        return field;
    }

    /**
     * The key of the client of a request.
     *
     * @param peer the address of the peer, with a port or without; "" for a Unix socket
     * @param lines the values of the field {@link #field()}, in their order
     */
    public String key(String peer, Collection<String> lines) {
        List<Field> fields = new ArrayList<>(lines.size());
        for (String line : lines) {
            fields.add(new Field(field, line));
        }
        return search(peer, field == null ? List.of() : fields).key();
    }

    /**
     * A key, and why it is that one.
     *
     * @param key the key
     * @param end "end", at the client; "short", "malformed" or "long", where the field ended the search
     */
    record Found(String key, String end) {}

    Found search(String peer, List<Field> fields) {
        Message message = new Message().u64(handle.address()).bytes(latin(peer));
        message.several(fields, (to, line) -> to.bytes(latin(line.name())).bytes(latin(line.value())));
        try {
            Reply reply = message.call(Operation.CLIENTS_SEARCH);
            String key = reply.text();
            return new Found(key, reply.text());
        } finally {
            Reference.reachabilityFence(handle);
        }
    }

    /** The bytes of a text: a character is one, and a text with others is its UTF-8. */
    private static byte[] latin(String text) {
        boolean fits = text.chars().allMatch(character -> character < 256);
        return text.getBytes(fits ? StandardCharsets.ISO_8859_1 : StandardCharsets.UTF_8);
    }

    /** What is trusted. Not for several threads at once. */
    public static final class Builder {
        private int v4Width = 32;
        private int v6Width = 64;
        private String field;
        private String kind = "list";
        private Integer hops;
        private List<String> networks;

        private Builder() {}

        /** Proxies name the client in this field, such as "X-Forwarded-For"; with it {@link #hops} or {@link #networks}. */
        public Builder field(String name) {
            field = name;
            return this;
        }

        /** What the field holds: "list" of addresses, the default; "single"; or "forwarded", of RFC 7239. */
        public Builder kind(String name) {
            kind = name;
            return this;
        }

        /** So many proxies of one's own, 1 to 16, each add their peer. */
        public Builder hops(int count) {
            hops = count;
            return this;
        }

        /** One's own proxies are in these networks, such as "10.0.0.0/8". */
        public Builder networks(Collection<String> own) {
            networks = List.copyOf(own);
            return this;
        }

        /** Bits of an IPv4 address that tell clients apart, 8 to 32; the default is 32. */
        public Builder v4Width(int bits) {
            v4Width = bits;
            return this;
        }

        /** Bits of an IPv6 address that tell clients apart, 32 to 128; the default is 64. */
        public Builder v6Width(int bits) {
            v6Width = bits;
            return this;
        }

        /**
         * Makes it.
         *
         * @throws IllegalArgumentException for what cannot be trusted so
         */
        public ClientKeys build() {
            return new ClientKeys(this);
        }
    }
}
