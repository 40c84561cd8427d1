// What the page begins with.

/** A policy of each algorithm, by its name. */
export const PRESETS = [
    ["gcra", "10/5s"],
    ["token_bucket, refilled evenly", "token_bucket 10/5s capacity=10"],
    ["token_bucket, refilled at intervals", "token_bucket 10/5s capacity=10 mode=interval"],
    ["token_bucket, intervals from the first request", "token_bucket 10/5s capacity=10 mode=interval_first"],
    ["leaky_meter", "leaky_meter 10/5s capacity=10"],
    ["leaky_queue", "leaky_queue 10/5s queue=9"],
    ["fixed_window", "fixed_window 10/5s"],
    ["fixed_window, from the first request", "fixed_window 10/5s start=first"],
    ["sliding_window", "sliding_window 10/5s"],
    ["sliding_log", "sliding_log 10/5s"],
    ["calendar_window", "calendar_window 100/day tz=Europe/Berlin"],
    ["in_flight, released by hand or by itself", "in_flight 10 hold=5s"],
    ["several layers", "4/s burst=4 & sliding_window 10/5s"],
];
export const FIRST = ["gcra", "token_bucket, refilled at intervals", "leaky_queue", "fixed_window", "sliding_window", "sliding_log", "in_flight, released by hand or by itself"]
    .map((name) => PRESETS.find(([preset]) => preset === name)[1]);
export const DEFAULTS = {
    shape: "poisson", rate: 3, burst: 10, clients: 1, cost: 1, watched: 0, span: 20, speed: 1, style: "draft11", list: "", compare: 0,
};
