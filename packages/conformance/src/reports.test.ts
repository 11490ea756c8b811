import { expect, test } from "vitest";
import { junitReport } from "./junit.js";
import { summaryOf } from "./report.js";
import type { ConformanceReport, OperationReport } from "./report.js";
import { reportTable } from "./table.js";

const operations: OperationReport[] = [
  {
    operation: "callRead",
    interface: "tracing",
    method: "POST",
    path: "/call/read",
    outcome: "failed",
    checks: [
      { name: "example", outcome: "passed", duration_ms: 12 },
      {
        name: "without a key",
        outcome: "failed",
        duration_ms: 3,
        message: "status 200",
        expected: "status 401",
        request: 'POST /call/read\n{"id":"<c>"}',
        response: '200 application/json\n{"call":"\u0007 & ]]>"}',
      },
      { name: "pages", outcome: "skipped", duration_ms: 0, message: "the list has 1 items" },
    ],
  },
  {
    operation: "getHealth",
    interface: "training",
    method: "GET",
    path: "/v1/health",
    outcome: "not_implemented",
    checks: [],
  },
];
const report: ConformanceReport = {
  base_url: "http://127.0.0.1:4680",
  spec_versions: { tracing: "0.1.0", training: "0.1.0" },
  started_at: "2026-04-10T09:00:00.000Z",
  duration_ms: 1500,
  summary: summaryOf(operations),
  operations,
};

test("the table has a line per operation, and the first failure with request and response", () => {
  expect(reportTable(report)).toMatchInlineSnapshot(`
    "operation  passed  failed  first failure
    callRead        1       1  without a key: status 200
    getHealth  not implemented

    callRead (POST /call/read), without a key
      found     status 200
      expected  status 401
      request   POST /call/read
                {"id":"<c>"}
      response  200 application/json
                {"call":" & ]]>"}

    Not checked:
      callRead, pages: the list has 1 items

    Not implemented (501): getHealth

    http://127.0.0.1:4680: 0 operations passed, 1 failed, 1 not implemented; 1 check passed, 1 failed, 1 skipped (1.5 s)"
  `);
});

test("JUnit has a suite per operation and a case per check, whatever text the server sends", () => {
  expect(junitReport(report)).toMatchInlineSnapshot(`
    "<?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="heddle conformance" tests="4" failures="1" skipped="2" time="1.500">
    <testsuite name="callRead" tests="3" failures="1" skipped="1" timestamp="2026-04-10T09:00:00.000Z">
    <testcase classname="tracing.callRead" name="example" time="0.012"></testcase>
    <testcase classname="tracing.callRead" name="without a key" time="0.003"><failure message="status 200">expected: status 401&#10;&#10;POST /call/read&#10;{&quot;id&quot;:&quot;&lt;c&gt;&quot;}&#10;&#10;200 application/json&#10;{&quot;call&quot;:&quot;� &amp; ]]&gt;&quot;}</failure></testcase>
    <testcase classname="tracing.callRead" name="pages" time="0.000"><skipped message="the list has 1 items"></skipped></testcase>
    </testsuite>
    <testsuite name="getHealth" tests="1" failures="0" skipped="1" timestamp="2026-04-10T09:00:00.000Z">
    <testcase classname="training.getHealth" name="implemented">
    <skipped message="not implemented: the server responds with 501"/>
    </testcase>
    </testsuite>
    </testsuites>
    "
  `);
});
