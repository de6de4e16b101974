"""Drive a real Neovim without a display: `python tools/neovim_session.py FILE`.

In a terminal of tmux, Neovim with its built-in client and `editors/neovim/moelint.lua` opens a copy of FILE. Above a
line of it a statement that breaks the policy is typed, its diagnostic is awaited, and the screen is printed. Exit code
1 if the diagnostic does not show. Needs nvim and tmux.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WIDTH, HEIGHT = 150, 36
LIMIT = 180.0
_INIT = """
local moelint = dofile("{lua}")
moelint.command = {{ "{python}", "-m", "moelint", "server" }}
moelint.setup()
vim.o.number = true
vim.o.signcolumn = "yes"
vim.o.wrap = false
local function shown(item)
  return item.user_data.lsp.code .. " " .. item.message
end
vim.diagnostic.config({{ virtual_text = {{ format = shown }}, float = {{ format = shown }} }})
"""


class Terminal:
    """A tmux session with one program."""

    def __init__(self, command: str, folder: Path) -> None:
        self._socket = f"moelint-{folder.name}"
        size = ["-x", str(WIDTH), "-y", str(HEIGHT)]
        self._tmux("-f", "/dev/null", "new-session", "-d", *size, "-c", str(folder), command)

    def keys(self, *keys: str) -> None:
        self._tmux("send-keys", *keys)

    def text(self, text: str) -> None:
        self._tmux("send-keys", "-l", text)

    def screen(self) -> str:
        """What is to be seen, without colours."""
        lines = self._tmux("capture-pane", "-p").splitlines()
        return "\n".join(line.rstrip() for line in lines) + "\n"

    def wait_for(self, what: str) -> bool:
        """Whether a text shows up in time."""
        end = time.monotonic() + LIMIT
        while what not in self.screen():
            if time.monotonic() > end:
                return False
            time.sleep(0.5)
        return True

    def close(self) -> None:
        self._tmux("kill-server")

    def _tmux(self, *arguments: str) -> str:
        command = ["tmux", "-L", self._socket, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def session(source: Path, before: str, typed: str, code: str) -> tuple[bool, str]:
    """Whether the diagnostic showed, and the last screen."""
    with tempfile.TemporaryDirectory(prefix="nvim-") as scratch:
        folder = Path(scratch, "sglang", "srt", "models")
        folder.mkdir(parents=True)
        file = Path(shutil.copy(source, folder))
        init = Path(scratch, "init.lua")
        init.write_text(_INIT.format(lua=ROOT / "editors" / "neovim" / "moelint.lua", python=sys.executable), "utf-8")
        line = file.read_text("utf-8").split("\n").index(before) + 1
        terminal = Terminal(f"nvim -n -i NONE --clean -u {init} {file.name}", folder)
        try:
            opened = terminal.wait_for("import")
            terminal.keys(f"{line}G", "O")
            terminal.text(typed)
            terminal.keys("Escape", "z", "z")
            seen = opened and terminal.wait_for(code)
            terminal.text(":lua vim.diagnostic.open_float()")
            terminal.keys("Enter")
            seen = seen and terminal.wait_for("Diagnostics:")
            return seen, terminal.screen()
        finally:
            terminal.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", type=Path, help="a model file, such as glm4_moe.py of SGLang 0.5.22")
    parser.add_argument("--before", default="        return final_hidden_states", help="the line to type above")
    parser.add_argument("--typed", default="final_hidden_states *= self.routed_scaling_factor", help="what to type")
    parser.add_argument("--code", default="MOE302", help="the code to wait for")
    parser.add_argument("--write", type=Path, help="write the screen to this file too")
    chosen = parser.parse_args()
    for program in ("nvim", "tmux"):
        if shutil.which(program) is None:
            print(f"{program} is missing", file=sys.stderr)
            return 2
    seen, screen = session(chosen.file.resolve(), chosen.before, chosen.typed, chosen.code)
    sys.stdout.write(screen)
    if chosen.write:
        chosen.write.write_text(screen, "utf-8")
    return 0 if seen else 1


if __name__ == "__main__":
    sys.exit(main())
