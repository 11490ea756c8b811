import express from "express";
import { toNodeListener } from "@heddle/server-stub/node";
import { server } from "./server.js";

const app = express();
app.use("/heddle", toNodeListener(server));
app.use(express.json()); // for other routes: after the server, which reads its bodies itself
app.listen(4680);
