// Runs programs of a guide, one after another in one process. Tells of each what it printed and why it failed.
import { execFileSync } from "node:child_process";
import { pathToFileURL } from "node:url";
import { format } from "node:util";

let printed = "";
console.log = (...parts) => {
  printed += `${format(...parts)}\n`;
};

const files = process.argv.slice(2);
// Programs that work in rounds take their number from here; what is photographed goes through all of them.
process.argv = [...process.argv.slice(0, 2), ...(process.env.PICTURES === "write" ? [] : ["1"])];
for (const file of files) {
  printed = "";
  let failure = null;
  try {
    if (file.endsWith(".sh")) printed = execFileSync("bash", ["--norc", "-e", file], { encoding: "utf8" });
    else await import(pathToFileURL(file));
  } catch (error) {
    failure = String(error?.stack ?? error);
  }
  process.send({ printed, failure });
}
process.exit();
