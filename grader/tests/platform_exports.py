"""One export a platform, named by that platform's own rules, restated here from its source.

Each function takes hand-ins and returns the files of the archive that a teacher downloads: path to content. The rules
are restated, not copied; beside each stands the file and function that they were read from. Where a platform is closed,
it is the form of its help pages and of what instructors' scripts in public repositories read.
"""

from __future__ import annotations

import re
import unicodedata
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

Files = dict[str, bytes]


@dataclass
class HandIn:
    """What somebody handed in, by all the names that a platform has for people."""

    first: str
    last: str
    login: str
    number: int
    files: Files
    email: str = ""
    at: datetime = datetime(2026, 3, 18, 22, 58, 7, tzinfo=UTC)
    late: bool = False
    group: str = ""
    text: str = ""  # typed into the page
    attachment: int = 0
    version: int = 1
    members: list[HandIn] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"{self.first} {self.last}"


def write(folder: Path, files: Files) -> Path:
    """Lays the archive's files out, as somebody unpacks it."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def pack(archive: Path, files: Files) -> Path:
    with zipfile.ZipFile(archive, "w") as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return archive


# ---- Canvas: lib/content_zipper.rb of instructure/canvas-lms


def canvas_user(sortable_name: str) -> str:
    """sanitize_user_name: figures between two '_' lose these, then lower case."""
    return re.sub(r"_(\d+)_", r"\1", sortable_name).lower()


def canvas_prefix(parts: Iterable[str | None]) -> str:
    """get_filename, sanitize_file_name: joined by '_'; what is no letter, mark, figure or connector is left out."""
    joined = "_".join(part for part in parts if part is not None)
    return "".join(c for c in joined if c.isalnum() or unicodedata.category(c) in {"Mn", "Mc", "Nd", "Pc"})


def canvas(hand_ins: list[HandIn], anonymous: dict[int, str] | None = None) -> Files:
    """add_submission, add_upload_submission: each file of a submission is one of the archive's."""
    files: Files = {}
    attachment = 9000
    for one in hand_ins:
        late = "LATE" if one.late else None
        if anonymous is not None:
            prefix = canvas_prefix([late, f"anon_{anonymous[one.number]}"])
        else:  # representatives: a group is called by its name, and numbered by one member
            sortable = one.group or f"{one.last}, {one.first}"
            prefix = canvas_prefix([canvas_user(sortable), late, str(one.number)])
        for name, content in one.files.items():
            attachment += 1
            display = re.sub(r'[\x00/\\:*?"<>|]+', "_", name)  # sanitize_attachment_filename
            files[f"{prefix}_{one.attachment or attachment}_{display}"] = content
        if one.text:
            ending = "link" if one.text.startswith("http") else "text"
            files[f"{prefix}_{ending}.html"] = f"<html>{one.text}</html>".encode()
    return files


# ---- Moodle: mod/assign/classes/downloader.php, mod/assign/gradingtable.php of moodle/moodle


def clean_filename(name: str) -> str:
    """clean_param(PARAM_FILE): some signs are left out, and dots in a row."""
    name = "".join(c for c in name if ord(c) >= 32 and c not in "&<>\"`|':\\/")
    return re.sub(r"\.\.+", "", name)


def moodle(hand_ins: list[HandIn], folders: bool = True, blind: bool = False, chosen_group: str = "") -> Files:
    """get_student_prefix, load_submissionplugin_filelist; the chosen group's name in front is older versions'."""
    files: Files = {}
    for one in hand_ins:
        person = one.group or ("Participant" if blind else one.name)
        if chosen_group and not one.group:
            person = f"{chosen_group}-{person}"
        prefix = clean_filename(person.replace("_", " ") + f"_{one.number}")
        plugins = [("file", one.files), ("onlinetext", {"onlinetext.html": one.text.encode()} if one.text else {})]
        for plugin, content in plugins:
            for name, data in content.items():
                stem = f"{prefix}_assignsubmission_{plugin}"
                files[f"{stem}/{name}" if folders else clean_filename(f"{stem}_{name}")] = data
    return files


MOODLE_DATES = {  # `strftimedaydatetime` of the language's langconfig.php, with an example's words
    "en": ("Wednesday, 18 March 2026, 11:58 PM", "Thursday, 19 March 2026, 12:01 AM"),
    "de": ("Mittwoch, 18. März 2026, 23:58", "Donnerstag, 19. März 2026, 00:01"),
    "fr": ("mercredi 18 mars 2026, 23:58", "jeudi 19 mars 2026, 00:01"),
    "es": ("miércoles, 18 de marzo de 2026, 23:58", "jueves, 19 de marzo de 2026, 00:01"),
    "pt": ("quarta-feira, 18 de março de 2026 às 23:58", "quinta-feira, 19 de março de 2026 às 00:01"),
    "nl": ("woensdag, 18 maart 2026, 23:58", "donderdag, 19 maart 2026, 00:01"),
}
MOODLE_COLUMNS = {  # 'recordid', 'fullname', 'email', 'status', 'grade', two of 'lastmodified...' in mod_assign
    "en": ["Identifier", "Full name", "Email address", "Status", "Grade", "Last modified (submission)",
           "Last modified (grade)"],
    "de": ["ID", "Vollständiger Name", "E-Mail-Adresse", "Status", "Bewertung", "Zuletzt geändert (Abgabe)",
           "Zuletzt geändert (Bewertung)"],
    "fr": ["Identifiant", "Nom complet", "Adresse de courriel", "Statut", "Note",
           "Dernière modification (travail remis)", "Dernière modification (note)"],
    "es": ["Identificador", "Nombre completo", "Dirección de correo", "Estado", "Calificación",
           "Última modificación (entrega)", "Última modificación (calificación)"],
    "pt": ["Identificador", "Nome completo", "Endereço de e-mail", "Estado", "Nota",
           "Última atualização (submissão)", "Última atualização (avaliação)"],
    "nl": ["Identificatie", "Volledige naam", "E-mailadres", "Status", "Cijfer", "Laatst gewijzigd (inzending)",
           "Laatst gewijzigd (cijfer)"],
}  # fmt: skip
MOODLE_PARTICIPANT = {"en": "Participant ", "de": "Teilnehmer/in", "fr": "Participant ", "es": "Participante ",
                      "pt": "Participante", "nl": "Deelnemer "}  # fmt: skip  # 'hiddenuser'


def moodle_worksheet(language: str, rows: list[tuple[int, str, str, str]], blind: bool = False) -> str:
    """The grading table, downloaded: number, name, address and what stands for the submission's time."""
    columns = MOODLE_COLUMNS[language]
    if blind:
        columns = [columns[0], *columns[3:]]
    lines = [",".join(columns)]
    for number, name, email, at in rows:
        person = [] if blind else [name, email]
        cells = [f"{MOODLE_PARTICIPANT[language]}{number}", *person, "Submitted", "", at, "-"]
        lines.append(",".join(f'"{cell}"' for cell in cells))
    return "\n".join(lines) + "\n"


# ---- Blackboard: "Download assignments" in its help for instructors


def blackboard(assignment: str, hand_ins: list[HandIn]) -> Files:
    files: Files = {}
    for one in hand_ins:
        stem = f"{assignment}_{one.login}_attempt_{one.at:%Y-%m-%d-%H-%M-%S}"
        text = f"Name: {one.name} ({one.login})\nAssignment: {assignment}\nDate Submitted: {one.at:%A, %d %B %Y}\n"
        files[f"{stem}.txt"] = text.encode()
        for name, content in one.files.items():
            files[f"{stem}_{name}"] = content
    return files


# ---- Brightspace: what instructors' scripts in public repositories read; "Mar 18, 2026 1158 PM" on an English account

BRIGHTSPACE_DATES = {
    "en": ("Mar 18, 2026 1158 PM", "Mar 19, 2026 1201 AM"),
    "en-24": ("18 March 2026 2358", "19 March 2026 001"),
    "fr": ("18 mars 2026 23 h 58", "19 mars 2026 0 h 01"),
    "de": ("18. März 2026 2358", "19. März 2026 0001"),
    "es": ("18 de marzo de 2026 1158 p. m.", "19 de marzo de 2026 1201 a. m."),
    "pt": ("18 de mar. de 2026 23h58", "19 de mar. de 2026 00h01"),
    "nl": ("18 mrt. 2026 2358", "19 mrt. 2026 0001"),
}


def brightspace(dated: list[tuple[HandIn, str]], loose: bool = False) -> Files:
    files: Files = {"index.html": b"<html></html>"}
    for one, date in dated:
        stem = f"{one.number}-96739 - {one.name} - {date}"
        for name, content in one.files.items():
            files[f"{stem} - {name}" if loose else f"{stem}/{name}"] = content
    return files


# ---- Sakai: AssignmentServiceImpl.java of sakaiproject/sakai


def escape_invalid_chars_entry(text: str) -> str:
    """escapeInvalidCharsEntry: accents, '?' and all that is not ASCII are left out."""
    decomposed = unicodedata.normalize("NFD", text).replace("?", "")
    return "".join(c for c in decomposed if ord(c) < 128)


def sakai_person(one: HandIn) -> str:
    """zipSubmissions: the sort name, with a comma in any case, and the eid; or Sakai's own id where that is not ASCII."""
    sort_name = f"{one.last}, {one.first}" if one.first else f"{one.last},"
    eid = one.login if escape_invalid_chars_entry(one.login) == one.login else f"0e3c1b-{one.number}"
    return escape_invalid_chars_entry(f"{sort_name}({eid})")


def sakai(assignment: str, hand_ins: list[HandIn], anonymous: bool = False, older: bool = False,
          attachments: str = "Submission attachment(s)", feedback: str = "Feedback Attachment(s)") -> Files:  # fmt: skip
    """zipSubmissions, zipGroupSubmissions: a folder a person or group, with what was attached in a folder below."""
    files: Files = {f"{assignment}/grades.csv": b"Lab 1,Points\n"}
    for one in hand_ins:
        person = sakai_person(one)
        if one.group:
            person = f"{one.group} (0e3c1b-{one.number})"
        elif anonymous:
            person = f"0e3c1b-{one.number} Anonymous"
        folder = f"{assignment}/{person}"
        instant = f"{one.at:%Y%m%d%H%M%S}123" if older else f"{one.at:%Y-%m-%dT%H:%M:%SZ}"
        files[f"{folder}/timestamp.txt"] = instant.encode()
        files[f"{folder}/{one.group or person}_submissionText.html"] = one.text.encode()
        for name, content in one.files.items():
            files[f"{folder}/{attachments}/{name}"] = content
        files[f"{folder}/comments.txt"] = b""
        files[f"{folder}/{feedback}/marked.pdf"] = b"%PDF"
        if one.group:
            files[f"{folder}/members.txt"] = "; ".join(sakai_person(member) for member in one.members).encode()
    return files


def sakai_without_folders(assignment: str, hand_ins: list[HandIn]) -> Files:
    """zipSubmissions, withoutFolders."""
    files: Files = {f"{assignment}/grades.csv": b"Lab 1,Points\n"}
    for one in hand_ins:
        for name, content in one.files.items():
            files[f"{assignment}/{sakai_person(one)}_Submission attachment(s)_{name}"] = content
        files[f"{assignment}/{sakai_person(one)}_comments.txt"] = b""
    return files


# ---- ILIAS: components/ILIAS/Exercise/Submission/SubmissionManager.php of ILIAS-eLearning/ILIAS


def ascii_filename(text: str) -> str:
    """getASCIIFilename: umlauts become two letters, other accents and scripts are lost."""
    for letter, two in {"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ß": "ss"}.items():
        text = text.replace(letter, two)
    return escape_invalid_chars_entry(text).replace("/", "").replace(":", "")


def ilias(assignment: str, hand_ins: list[HandIn], submissions: str = "Submissions",
          late: str = "Late Submission") -> Files:  # fmt: skip
    """copySubmissionFilesToDir, getDirectoryNameFromUserData; the table is ilExerciseManagementCollectFilesJob's."""
    files: Files = {f"{assignment}/{assignment}.xlsx": b"PK"}
    for one in hand_ins:
        folder = ascii_filename(f"{one.last.strip()}_{one.first.strip()}_{one.login.strip()}_{one.number}")
        team = f"{one.group}/" if one.group else ""
        for name, content in one.files.items():
            shown = ascii_filename(f"{late} - {name}" if one.late else name)
            files[f"{assignment}/{submissions}/{team}{folder}/{shown}"] = content
    return files


# ---- Autolab: app/controllers/submissions_controller.rb of autolab/Autolab


def autolab(handin: str, hand_ins: list[HandIn]) -> Files:
    """download_filename: the address in front of the last two parts of <version>_<handin>."""
    files: Files = {}
    for one in hand_ins:
        parts = f"{one.version}_{handin}".split("_")
        parts.insert(max(len(parts) - 2, 0), one.email)
        files["_".join(parts)] = next(iter(one.files.values()))
    return files


# ---- PrairieLearn: instructorAssessmentDownloads.tsx of PrairieLearn/PrairieLearn


def prairielearn(assessment: str, question: str, hand_ins: list[HandIn], manual: bool = False) -> Files:
    """extractFilesForSubmissions, extractFilesForManualGrading."""
    files: Files = {}
    for count, one in enumerate(hand_ins):
        submission = 88_000 + count
        prefix = f"{one.group or one.email}_1_{question}_1_{one.version}_{submission}"
        if manual:
            prefix = f"{one.group or f'{one.email}_{one.number}'}_{question}_{submission}"
        for name, content in one.files.items():
            files[f"{assessment}/{prefix}_{name}"] = content
    return files
