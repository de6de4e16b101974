// Starts `moelint server` and connects it; everything else is the server's.
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const { execFile } = require("node:child_process");
const vscode = require("vscode");
const { LanguageClient, TransportKind } = require("vscode-languageclient/node");

const SERVER_SETTINGS = ["debounceMs", "workspaceDiagnostics", "codeLens", "inlayHints", "routes"];
const START = ["-m", "moelint", "server"];

let client;
let status;

/** The interpreter of the settings, else that of the Python extension, else the one on the path. */
async function interpreter(settings) {
  const chosen = settings.get("interpreter");
  if (chosen) {
    return chosen;
  }
  const python = vscode.extensions.getExtension("ms-python.python");
  if (python) {
    const api = await python.activate();
    const active = api?.environments?.getActiveEnvironmentPath?.();
    const found = active && (await api.environments.resolveEnvironment(active));
    if (found?.executable?.uri) {
      return found.executable.uri.fsPath;
    }
  }
  return process.platform === "win32" ? "python" : "python3";
}

/** Whether an interpreter has moelint with what its server needs. Nothing of the open folder is on its path. */
function hasServer(python) {
  const probe = "import sys; sys.path.pop(0); import moelint, pygls, lsprotocol";
  return new Promise((resolve) => execFile(python, ["-c", probe], (error) => resolve(!error)));
}

/** The command that starts the server, and its environment. */
async function command(context) {
  const settings = vscode.workspace.getConfiguration("moelint");
  const own = settings.get("path");
  if (own.length > 0) {
    return { command: own[0], args: own.slice(1) };
  }
  const python = await interpreter(settings);
  if (settings.get("importStrategy") === "fromEnvironment" && (await hasServer(python))) {
    return { command: python, args: START };
  }
  const bundled = path.join(context.extensionPath, "bundled", "libs");
  if (!fs.existsSync(bundled)) {
    throw new Error(`${python} has no moelint with the extra lsp: pip install "moelint[lsp]"`);
  }
  return { command: python, args: START, options: { env: { ...process.env, PYTHONPATH: bundled } } };
}

function serverSettings() {
  const settings = vscode.workspace.getConfiguration("moelint");
  return Object.fromEntries(SERVER_SETTINGS.map((name) => [name, settings.get(name)]));
}

function show(state, message) {
  status.text = state === "ok" ? "moelint" : "$(warning) moelint";
  status.tooltip = message || "moelint runs";
  status.show();
}

async function start(context) {
  let server;
  try {
    server = await command(context);
  } catch (error) {
    show("missing", error.message);
    vscode.window.showWarningMessage(`moelint: ${error.message}`);
    return;
  }
  client = new LanguageClient(
    "moelint",
    "moelint",
    { ...server, transport: TransportKind.stdio },
    {
      documentSelector: [{ language: "python", scheme: "file" }, { language: "python", scheme: "untitled" }],
      initializationOptions: { ...serverSettings(), status: true },
      synchronize: { configurationSection: "moelint" },
    },
  );
  client.onNotification("moelint/status", (params) => show(params.state, params.message));
  await client.start();
  show("ok", "");
}

async function stop() {
  const running = client;
  client = undefined;
  await running?.stop();
}

async function activate(context) {
  status = vscode.window.createStatusBarItem(vscode.StatusBarAlignment.Right);
  status.name = "moelint";
  status.command = "moelint.showLog";
  context.subscriptions.push(
    status,
    vscode.commands.registerCommand("moelint.restart", async () => {
      await stop();
      await start(context);
    }),
    vscode.commands.registerCommand("moelint.showLog", () => client?.outputChannel.show()),
  );
  await start(context);
}

module.exports = { activate, deactivate: stop };
