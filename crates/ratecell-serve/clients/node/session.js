// A session of ioredis with a server: `node session.js HOST:PORT`, whose policy api is 5/1d.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { Redis } from "ioredis";

const client = new Redis({ port: Number(process.argv[2].split(":").at(-1)), connectionName: "session" });
client.on("error", (error) => {
  throw error;
});
assert.equal(await client.ping(), "PONG");
assert.deepEqual(await client.call("CL.THROTTLE", "node", 15, 30, 60), [0, 16, 15, -1, 2]);
const pipeline = client.pipeline();
for (let i = 0; i < 20; i++) pipeline.call("RATECELL.CHECK", "api", "node");
const outcomes = (await pipeline.exec()).map(([error, [outcome]]) => error ?? outcome);
assert.deepEqual(outcomes, [...Array(5).fill(0), ...Array(15).fill(1)]);
const reservation = (await client.call("RATECELL.RESERVE", "api", "node:held", 4)).at(-1);
const settled = await client.call("RATECELL.SETTLE", "api", reservation, 1);
assert.equal(settled[2], 4);
await assert.rejects(client.call("RATECELL.CHECK", "nowhere", "node"), /no policy is named/);
await client.quit();
const { version } = createRequire(import.meta.url)("ioredis/package.json");
console.log(`ioredis ${version}: passed`);
