package io.github.ratecell;

import java.util.OptionalInt;

/** A policy that is refused: its text, or that it cannot follow the one in force. */
public final class PolicyException extends IllegalArgumentException {
    private static final long serialVersionUID = 1;

    private final String code;
    private final int column;

    PolicyException(String message, String code, int column) {
        super(message);
        this.code = code;
        this.column = column;
    }

    /** The stable name of what is wrong. */
    public String code() {
        return code;
    }

    /** Where in the text, counted in bytes from 1; empty where no place is to blame. */
    public OptionalInt column() {
        return column == 0 ? OptionalInt.empty() : OptionalInt.of(column);
    }
}
