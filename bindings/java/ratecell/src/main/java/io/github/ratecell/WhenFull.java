package io.github.ratecell;

/** What happens to a new key when every place of the table is in use. */
public enum WhenFull {
    /** The key that holds the fewest used units is erased for it; they are counted. */
    EVICT,
    /** It shares one cell with the other newcomers. */
    SHARE,
    /** It is denied. */
    DENY,
    /** It is allowed, uncharged. */
    ALLOW
}
