import "reflect-metadata";
import { Module } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { toNodeListener } from "@heddle/server-stub/node";
import { server } from "./server.js";

@Module({})
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: false });
app.use("/heddle", toNodeListener(server)); // before `listen`, which adds Nest's own body parser
await app.listen(4680);
