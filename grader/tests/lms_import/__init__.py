"""How each LMS reads grades: models of their imports, from their source, or from documentation where it is closed.

Each takes the file as it was written and the course's people as the LMS knows them, and returns what would stand in the
LMS afterwards. A file that the LMS would refuse, or with which it would give points to somebody else, is an
`ImportRefusedError` or a wrong answer here. Each module names the files or documents that it is made from; Gradescope's
schema is in test_exports.py.
"""

from .autolab_line import autolab
from .blackboard_csv import blackboard
from .brightspace_csv import brightspace
from .canvas_csv import canvas
from .ilias_zip import ilias_feedback
from .moodle_csv import moodle, moodle_worksheet
from .people import ImportRefusedError, LmsPerson
from .prairielearn import prairielearn_results, prairielearn_scores
from .sakai_csv import sakai_assignment, sakai_gradebook

__all__ = [
    "ImportRefusedError",
    "LmsPerson",
    "autolab",
    "blackboard",
    "brightspace",
    "canvas",
    "ilias_feedback",
    "moodle",
    "moodle_worksheet",
    "prairielearn_results",
    "prairielearn_scores",
    "sakai_assignment",
    "sakai_gradebook",
]
