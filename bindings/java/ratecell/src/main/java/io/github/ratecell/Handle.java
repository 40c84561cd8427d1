package io.github.ratecell;

import java.lang.ref.Cleaner;

/**
 * An object of the library. It is freed when no thread can reach its handle any more: whoever passes the address to the
 * library keeps the handle reachable until the call has returned, so closing during a call is safe and costs calls nothing.
 */
final class Handle {
    private static final Cleaner CLEANER = Cleaner.create();

    private final long address;

    Handle(long address, Operation free) {
        this.address = address;
        CLEANER.register(this, () -> new Message().u64(address).call(free));
    }

    long address() {
        return address;
    }
}
