/**
 * Checks and sorts the list of prices that comes with Heddle:
 *
 *   pnpm --filter @heddle/service prices
 */
import { readFileSync, writeFileSync } from "node:fs";
import { formatPriceList, readPriceList, shippedPricesFile } from "../src/boot/prices.js";

const list = readPriceList(shippedPricesFile);
const text = formatPriceList(list);
const changed = text !== readFileSync(shippedPricesFile, "utf8");
if (changed) writeFileSync(shippedPricesFile, text);
console.log(`${list.prices.length} prices ${changed ? "sorted" : "in order"}`);
