export { visibleLine, visibleText } from "@heddle/exact-json";
