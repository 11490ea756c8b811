export { canonicalJson } from "./canonical.js";
export { characterCount, compareCodePoints, firstCharacters, hasAtMost } from "./code-points.js";
export { withMembers } from "./edit.js";
export { isJson } from "./is-json.js";
export { isJsonObject, type JsonObject, parseJsonObject } from "./json-object.js";
export {
  arrayItems,
  decodeString,
  forEachItem,
  forEachMember,
  type JsonType,
  jsonType,
  memberOf,
  objectEntries,
  objectText,
  stringMember,
  stringValue,
} from "./members.js";
export { exceedsNesting } from "./nesting.js";
export { pythonFloat } from "./python-number.js";
export { type JsonText, spaceEnd, stringEnd, valueEnd } from "./scan.js";
export { readable, storable } from "./storable.js";
export { visibleJson, visibleLine, visibleText } from "./visible.js";
