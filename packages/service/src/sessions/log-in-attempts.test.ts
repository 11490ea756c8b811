import { Problem } from "@heddle/server-stub";
import { expect, test } from "vitest";
import { LogInAttempts } from "./log-in-attempts.js";

function attempts() {
  let now = 0;
  const counted = new LogInAttempts(() => now);
  const fail = (address: string | undefined, times = 1) => {
    for (let attempt = 0; attempt < times; attempt++) counted.begin(address);
  };
  return { counted, fail, wait: (ms: number) => void (now += ms) };
}

test("ten failures a minute and address are let through, and none that follows", () => {
  const { fail, wait } = attempts();
  fail("192.0.2.1", 10);
  expect(() => fail("192.0.2.1")).toThrow(Problem);
  fail("192.0.2.2", 10);
  fail(undefined, 10);
  wait(59_999);
  expect(() => fail("192.0.2.1")).toThrow(expect.objectContaining({ headers: { "retry-after": "1" } }));
  wait(1);
  fail("192.0.2.1", 10);
});

test("log-ins that succeed do not count", () => {
  const { counted, fail } = attempts();
  for (let attempt = 0; attempt < 50; attempt++) counted.begin("192.0.2.1")();
  fail("192.0.2.1", 10);
});

test("addresses of one IPv6 network count together", () => {
  const { fail } = attempts();
  fail("2001:db8:1:2::1", 5);
  fail("2001:db8:1:2:3:4:5:6", 5);
  expect(() => fail("2001:db8:1:2:ffff::")).toThrow("10 attempts");
  fail("2001:db8:1:3::1");
  fail("::1");
});

test("many addresses take no more memory than some", () => {
  const { counted, fail } = attempts();
  fail("192.0.2.1", 10);
  for (let index = 0; index < 30_000; index++) counted.begin(`10.${index >> 8}.${index & 255}.1`);
  fail("192.0.2.1");
});
