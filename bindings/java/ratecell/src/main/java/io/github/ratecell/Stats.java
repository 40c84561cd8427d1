package io.github.ratecell;

/**
 * What a limiter holds, and what has happened to it. Of several layers, the sum of the events and of the bytes, and the most
 * slots and live keys of any.
 *
 * @param slots places for keys; {@code maxKeys} is five sevenths of them
 * @param live keys that are not as good as never used
 * @param liveError how many more or fewer than {@code live} there may be; 0 where all were counted
 * @param bytes bytes of memory, fixed when the limiter is made; entries of a {@code sliding_log} come on top
 * @param evicted live keys that were erased for newcomers
 * @param forgiven units that erased keys still held
 * @param shared requests decided on a cell that newcomers without room share
 * @param deniedFull newcomers denied for want of room
 * @param allowedFull newcomers allowed uncharged for want of room
 * @param exhausted requests that met so many others at once that they were answered as by a full table
 */
public record Stats(
        long slots,
        long live,
        long liveError,
        long bytes,
        long evicted,
        long forgiven,
        long shared,
        long deniedFull,
        long allowedFull,
        long exhausted) {
    static Stats read(Reply reply) {
        return new Stats(
                reply.u64(),
                reply.u64(),
                reply.u64(),
                reply.u64(),
                reply.u64(),
                reply.u64(),
                reply.u64(),
                reply.u64(),
                reply.u64(),
                reply.u64());
    }
}
