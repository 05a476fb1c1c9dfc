// A script for ioredis: the commands of its connection set-up, and throttling commands.
"use strict";

const assert = require("node:assert");
const { createRequire } = require("node:module");

const [port, folder] = process.argv.slice(2);
const Redis = createRequire(`${folder}/`)("ioredis");

async function main() {
  const client = new Redis({ port: Number(port), connectionName: "tests" });
  assert.strictEqual(await client.ping(), "PONG");
  assert.strictEqual(await client.client("GETNAME"), "tests");
  const first = await client.call("CL.THROTTLE", "ioredis", 15, 30, 60);
  assert.deepStrictEqual(first, [0, 16, 15, -1, 2]);

  const pipeline = client.pipeline();
  for (let call = 0; call < 100; call += 1) {
    pipeline.call("CL.THROTTLE", "ioredis", 15, 30, 60);
  }
  const limited = (await pipeline.exec()).map(([error, answer]) => (assert.ifError(error), answer[0]));
  assert.deepStrictEqual(limited.slice(0, 15), Array(15).fill(0));
  assert.ok(limited.filter((one) => one === 1).length >= 80);

  const checked = await client.call("SLUICEGATE.CHECK", "ip", "203.0.113.9", "path", "/", "COST", 0);
  assert.strictEqual(checked[checked.indexOf("allowed") + 1], 1);
  await assert.rejects(client.get("k"), /unknown command 'get'/i);
  assert.strictEqual(await client.quit(), "OK");
  console.log("ok");
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
