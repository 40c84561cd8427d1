package io.github.ratecell;

import java.util.Optional;
import java.util.OptionalInt;

/** A file of rules that is refused. */
public final class RulesException extends IllegalArgumentException {
    private static final long serialVersionUID = 1;

    private final String code;
    private final int line;
    private final String rule;
    private final String field;

    RulesException(String message, String code, int line, String rule, String field) {
        super(message);
        this.code = code;
        this.line = line;
        this.rule = rule;
        this.field = field;
    }

    /** The stable name of what is wrong. */
    public String code() {
        return code;
    }

    /** Where in the file, counted from 1. */
    public OptionalInt line() {
        return line == 0 ? OptionalInt.empty() : OptionalInt.of(line);
    }

    /** The name of the rule, or its number where it has none. */
    public Optional<String> rule() {
        return rule.isEmpty() ? Optional.empty() : Optional.of(rule);
    }

    /** The field of the rule. */
    public Optional<String> field() {
        return field.isEmpty() ? Optional.empty() : Optional.of(field);
    }
}
