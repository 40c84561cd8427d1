package io.github.ratecell;

/**
 * A time zone, ready for requests to a limiter whose policy has {@code tz=caller}: {@link Limiter#zone} makes it, in up to a
 * millisecond. Make each zone once. Threads may share it.
 */
public final class Zone {
    private final Handle handle;
    private final String name;

    Zone(Handle handle, String name) {
        this.handle = handle;
        this.name = name;
    }

    Handle handle() {
        return handle;
    }

    /** The name as the time zone database spells it, "UTC", or an offset such as "+05:30". */
    public String name() {
        return name;
    }

    @Override
    public String toString() {
        return "Zone[" + name + "]";
    }
}
