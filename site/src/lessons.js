// What the lessons set up, and what to look at.

const list = (...lines) => lines.join("\n");
const times = (count, ...instants) => instants.flatMap((instant) => Array(count).fill(instant)).join("\n");

export const LESSONS = [
    {
        name: "The edge of a window",
        policies: ["fixed_window 10/5s", "sliding_window 10/5s", "sliding_log 10/5s"],
        traffic: { shape: "list", list: times(10, "4.8", "5.2"), span: 10 },
        says: "Ten requests come just before 5 s and ten just after. The fixed window admits all twenty within half a second. Of the second ten the sliding window admits one, because the first ten then weigh 9.6, and the log none.",
    },
    {
        name: "A burst",
        policies: ["2/s burst=10", "2/s burst=1", "leaky_queue 2/s queue=9", "token_bucket 10/5s capacity=10 mode=interval"],
        traffic: { shape: "list", list: times(12, "2"), span: 20 },
        says: "Twelve requests come at once. All four have the same rate: a burst of 10 admits ten now, a burst of 1 admits one, and the queue admits ten and delays nine of them, half a second apart.",
    },
    {
        name: "Two clients",
        policies: ["10/5s", "sliding_log 10/5s"],
        traffic: { shape: "steady", rate: 4, clients: 2, span: 20 },
        says: "Four requests a second, from two clients in turn: each has the 2/s that the limit gives to one, and nobody is refused. Set clients to 1, and half of the requests are.",
    },
    {
        name: "Why not 10 per second as 1 per 100 ms",
        policies: ["10/s", "1/100ms", "1/100ms burst=3"],
        traffic: { shape: "poisson", rate: 8, clients: 1, span: 10 },
        says: "Eight requests a second come at random, below both limits. 1 per 100 ms has a burst of 1, so it refuses whatever comes within 100 ms of another; a burst of 3 is enough for most.",
    },
    {
        name: "A clock that steps back",
        policies: ["5/5s", "fixed_window 5/5s", "sliding_log 5/5s"],
        traffic: { shape: "list", list: list(times(5, "6"), "2", "3", "11.2"), span: 20 },
        says: "Five requests use up the limit at 6 s, then the clock steps back to 2 s. Nothing is admitted twice: the state is of a later time, and the wait is counted from the clock that asks.",
    },
    {
        name: "Precise and approximate counters",
        policies: ["sliding_log 10/5s", "sliding_window 10/5s", "sliding_window 10/5s strict=true"],
        traffic: { shape: "poisson", rate: 3, clients: 1, span: 20, compare: 1 },
        says: "The log knows each instant; the window knows two counts and takes the older one as evenly spread. A tick under a dot marks each decision that differs from the first lane's.",
    },
    {
        name: "Several limits at once",
        policies: ["5/s burst=5 & sliding_window 20/10s", "5/s burst=5", "sliding_window 20/10s"],
        traffic: { shape: "bursts", rate: 4, burst: 8, clients: 1, span: 20 },
        says: "The first lane has both limits of the other two. A request is charged to both, or to neither: what one refuses costs nothing in the other.",
    },
];
