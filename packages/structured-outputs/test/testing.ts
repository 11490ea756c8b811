export { allowedTokens, randomWalk, seededRandom } from "./random-walk.js";
