import { formatTime, parseTime } from "@heddle/trace-model";
import { expect, it } from "vitest";
import { bucketsBetween } from "./buckets.js";

const us = (text: string) => parseTime(text) ?? 0n;
function between(start: string, end: string, timezone: string, granularity?: number) {
  const buckets = bucketsBetween(us(start), us(end), timezone, granularity);
  return { granularity: buckets.granularity, starts: buckets.starts.map((start) => formatTime(start).slice(0, 16)) };
}

it.each([
  ["2026-01-01T00:00:00Z", "2026-01-01T02:00:00Z", 300],
  ["2026-01-01T00:00:00Z", "2026-01-01T12:00:00Z", 3600],
  ["2026-01-01T00:00:00Z", "2026-01-04T00:00:00Z", 21_600],
  ["2026-01-01T00:00:00Z", "2026-01-15T00:00:00Z", 43_200],
  ["2026-01-01T00:00:00Z", "2026-01-15T00:00:01Z", 86_400],
])("from %s to %s a bucket is %d seconds by default", (start, end, granularity) => {
  expect(between(start, end, "UTC").granularity).toBe(granularity);
});

it("the first bucket holds the start, and the end opens no other", () => {
  expect(between("2026-01-01T00:10:00Z", "2026-01-01T03:00:00Z", "UTC", 3600).starts).toEqual([
    "2026-01-01T00:00",
    "2026-01-01T01:00",
    "2026-01-01T02:00",
  ]);
});

it("days begin at midnight of the time zone, also when its clocks change", () => {
  expect(between("2026-03-28T12:00:00Z", "2026-03-30T12:00:00Z", "Europe/Berlin", 86_400).starts).toEqual([
    "2026-03-27T23:00",
    "2026-03-28T23:00",
    "2026-03-29T22:00",
  ]);
  expect(between("2026-10-24T12:00:00Z", "2026-10-26T12:00:00Z", "Europe/Berlin", 86_400).starts).toEqual([
    "2026-10-23T22:00",
    "2026-10-24T22:00",
    "2026-10-25T23:00",
  ]);
});

it("the hour that comes twice is two buckets, the one left out none", () => {
  expect(between("2026-10-25T00:00:00Z", "2026-10-25T03:00:00Z", "Europe/Berlin", 3600).starts).toHaveLength(3);
  expect(between("2026-03-29T00:00:00Z", "2026-03-29T03:00:00Z", "Europe/Berlin", 3600).starts).toHaveLength(3);
});

it("hours of a zone half an hour off begin at the half hour", () => {
  expect(between("2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z", "Asia/Kolkata", 3600).starts).toEqual([
    "2025-12-31T23:30",
    "2026-01-01T00:30",
  ]);
});

it("a granularity that makes more than 10,000 buckets is raised", () => {
  expect(between("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "UTC", 1)).toMatchObject({ granularity: 9 });
});

it("a range that is empty, too long, or in no zone is refused", () => {
  const refused = (loc: string) => expect.objectContaining({ code: "invalid", loc: [loc] });
  expect(() => between("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "UTC")).toThrowError(refused("end"));
  expect(() => between("2001-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "UTC")).toThrowError(refused("start"));
  expect(() => between("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "Mars/Base")).toThrowError(refused("timezone"));
});
