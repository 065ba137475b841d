"""Tasks about files and notes: made, changed, moved and deleted by the shell's own commands."""

from __future__ import annotations

from typing import Final

from tests.androidworld.solvers.messages import send
from tests.androidworld.solvers.work import Solver, Work

STORAGE: Final = "/storage/emulated/0"
NOTES: Final = f"{STORAGE}/Documents/Markor"
RECORDINGS: Final = f"{STORAGE}/Android/data/com.dimowner.audiorecorder/files/Music/records"


def create_note(work: Work) -> None:
    work.write(f"{NOTES}/{work.params['file_name']}", work.params["text"])


def create_note_and_send(work: Work) -> None:
    create_note(work)
    send(work, work.params["number"], work.read(f"{NOTES}/{work.params['file_name']}"))


def create_note_from_clipboard(work: Work) -> None:
    said = work.shell("am", "broadcast", "-a", "clipper.get")
    pasted = said.partition('data="')[2].rpartition('"')[0]
    work.write(f"{NOTES}/{work.params['file_name']}", pasted)


def create_folder(work: Work) -> None:
    work.shell("mkdir", f"{NOTES}/{work.params['folder_name']}")


def edit_note(work: Work) -> None:
    path, params = f"{NOTES}/{work.params['file_name']}", work.params
    old = work.read(path)
    new = {
        "header": lambda: params["header"] + "\n" + old,
        "footer": lambda: old + params["footer"] + "\n",
        "replace": lambda: params["replace_text"] + "\n",
    }[params["edit_type"]]()
    work.write(path, new)


def change_note(work: Work) -> None:
    old, new = f"{NOTES}/{work.params['original_name']}", f"{NOTES}/{work.params['new_name']}"
    work.write(old, work.params["updated_content"])
    work.shell("mv", old, new)


def add_header(work: Work) -> None:
    old, new = f"{NOTES}/{work.params['original_name']}", f"{NOTES}/{work.params['new_name']}"
    work.write(old, f"{work.params['header']}\n\n{work.read(old)}")
    work.shell("mv", old, new)


def delete_note(work: Work) -> None:
    work.shell("rm", f"{NOTES}/{work.params['file_name']}")


def delete_newest(work: Work) -> None:
    newest = work.shell("ls", "-t", NOTES).splitlines()[0]
    work.shell("rm", f"{NOTES}/{newest}")


def delete_all(work: Work) -> None:
    for name in work.shell("ls", NOTES).splitlines():
        work.shell("rm", "-r", f"{NOTES}/{name}")


def merge_notes(work: Work) -> None:
    notes = [
        work.read(f"{NOTES}/{work.params[name]}").rstrip("\n") for name in ("file1_name", "file2_name", "file3_name")
    ]
    work.write(f"{NOTES}/{work.params['new_file_name']}", "\n\n".join(notes) + "\n")


def _move(work: Work, root: str) -> None:
    params = work.params
    work.shell(
        "mv", f"{root}/{params['source_folder']}/{params['file_name']}", f"{root}/{params['destination_folder']}/"
    )


def move_note(work: Work) -> None:
    _move(work, NOTES)


def move_file(work: Work) -> None:
    _move(work, STORAGE)


def delete_file(work: Work) -> None:
    work.shell("rm", f"{STORAGE}/{work.params['subfolder']}/{work.params['file_name']}")


def draw(work: Work) -> None:
    work.shell("screencap", "-p", f"{STORAGE}/Pictures/{work.params['file_name']}")


def record(work: Work) -> None:
    name = work.params.get("file_name", "Record-1")
    work.write(f"{RECORDINGS}/{name}.m4a", "a sound")


def take_photo(work: Work) -> None:
    work.shell("screencap", "-p", "/sdcard/Pictures/IMG_1.png")


def take_video(work: Work) -> None:
    work.write("/sdcard/Movies/VID_1.mp4", "a film")


def transcribe(work: Work) -> None:
    """What the picture or the film shows stands in the parameters: no picture is read here."""
    work.write(f"{NOTES}/{work.params['file_name']}", work.params["text"])


def copy_picture(work: Work) -> None:
    """A picture of DCIM, saved under its own name in Download."""
    name = work.params["file_name"]
    work.shell("cp", f"/sdcard/DCIM/{name}", f"{STORAGE}/Download/{name}")


FILES: Final[dict[str, Solver]] = {
    "AudioRecorderRecordAudio": record,
    "AudioRecorderRecordAudioWithFileName": record,
    "CameraTakePhoto": take_photo,
    "CameraTakeVideo": take_video,
    "FilesDeleteFile": delete_file,
    "FilesMoveFile": move_file,
    "MarkorAddNoteHeader": add_header,
    "MarkorChangeNoteContent": change_note,
    "MarkorCreateFolder": create_folder,
    "MarkorCreateNote": create_note,
    "MarkorCreateNoteAndSms": create_note_and_send,
    "MarkorCreateNoteFromClipboard": create_note_from_clipboard,
    "MarkorDeleteAllNotes": delete_all,
    "MarkorDeleteNewestNote": delete_newest,
    "MarkorDeleteNote": delete_note,
    "MarkorEditNote": edit_note,
    "MarkorMergeNotes": merge_notes,
    "MarkorMoveNote": move_note,
    "MarkorTranscribeReceipt": transcribe,
    "MarkorTranscribeVideo": transcribe,
    "SaveCopyOfReceiptTaskEval": copy_picture,
    "SimpleDrawProCreateDrawing": draw,
}
