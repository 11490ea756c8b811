// Version 4 has what the tests use of version 5, and no types of its own.
declare module "express4" {
  import express from "express";
  export default express;
}
