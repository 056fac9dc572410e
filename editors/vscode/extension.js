// Starts `tilec lsp` for kernels, and hands it the settings.
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

function settings() {
    const all = vscode.workspace.getConfiguration("tilec");
    const names = ["target", "language", "include", "warnings", "signatures", "layouts", "delay", "limit"];
    return Object.fromEntries(names.map((name) => [name, all.get(name)]));
}

async function activate(context) {
    const command = vscode.workspace.getConfiguration("tilec").get("path");
    client = new LanguageClient("tilec", "tilec", { command, args: ["lsp"] }, {
        documentSelector: [{ language: "tile" }, { language: "python" }],
        initializationOptions: settings(),
    });
    context.subscriptions.push(vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration("tilec"))
            client.sendNotification("workspace/didChangeConfiguration", { settings: { tilec: settings() } });
    }));
    await client.start();
}

function deactivate() {
    return client && client.stop();
}

module.exports = { activate, deactivate };
