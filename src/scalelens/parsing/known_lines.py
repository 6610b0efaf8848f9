"""Lines that many programs copied, whose numbers have no names, or names that do not say what they are: written out.

    [12] time 1.92 lr 0.000950 3d_train 37.5 3d_eval 35.2 3d_valid 42.1       facebookresearch/VideoPose3D, run.py
    [  3]    1250 || B: 4.125 | C: 6.250 | T: 10.375 || ETA: 1 day, 2:03:04 || timer: 0.512      dbolya/yolact, train.py
    2_train_40, 12.5, [4.1, 4.2, 4.2]                                         zzh8829/yolov3-tf2, train.py
    [10:15:27] [#00040] loss_A: 0.04125, loss_B: 0.03875                      deepfakes/faceswap, train.py
    [10:15:27][#000040][0512ms][0.4125][0.3875]                               iperov/DeepFaceLab, Trainer.py
    [10:15:27] [40]<tab>train-rmse:0.41<tab>eval-rmse:0.52      XGBoost and LightGBM, after the time of a logger
    [1000] | gnorm 0.75 lr 0.000250 | loss 3.25                kimiyoung/transformer-xl, tf/train_gpu.py
    Progress on:train 19.0it/70.0it rate:76.8s/it remaining:1:05:15 elapsed:31:40 postfix:loss=2.5        tqdm-loggable

A boosting round is an iteration, and what it minimizes its loss.  VideoPose3D states the minutes of an epoch, with its
evaluation.  YOLACT states the seconds of the one step, in every tenth, and so does DeepFaceLab.  tqdm-loggable writes a
line every ten seconds or more, and its rate is smoothed over all updates between: the seconds that have passed tell the
time of a step.
"""

from scalelens.parsing import lazy_re as re

_LEAST_MIN = 0.2  # twenty of its last digits: of fewer, one is too much
_N = r"(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|nan|inf)"
_VIDEOPOSE = re.compile(
    rf"^\[(?P<epoch>\d{{1,6}})\] time (?P<time>\d+\.\d\d)(?= (?:eval_time \d+\.\d\d )?lr {_N} 3d_train {_N}(?: |\Z))"
)
_OF_3D = re.compile(r" 3d_(\w{1,20}) ")
_YOLACT = re.compile(
    r"^\[ *(?P<epoch>\d{1,6})\] +(?P<step>\d{1,12}) \|\|(?P<losses>(?: \w{1,12}: \S{1,20} \|)+)"
    rf" (?:T|Total): (?P<loss>{_N}) \|\| ETA: (?:\d+ days?, )?[\d:]+ \|\| timer: (?P<time>\d+\.\d{{3}})(?=\s|\Z)"
)
_YOLOV3_TF2 = re.compile(rf"(?P<epoch>\b\d{{1,6}})_(?P<phase>train)_(?P<batch>\d{{1,9}}), (?P<loss>{_N}), (?=\[)")
_FACESWAP = re.compile(
    r"^(?P<stamp>\[\d\d:\d\d:\d\d\]) \[#(?P<step>\d{5,9})\] (?:\[(?P<time>\d+\.\d{3})s\] )?"
    r"(?=(?:loss_A|Loss A|face_[Aa]): \d)"
)
_DEEPFACELAB = re.compile(
    r"^(?P<stamp>\[\d\d:\d\d:\d\d\])\[#(?P<step>\d{6,9})\]"
    r"\[(?:(?P<ms>\d{4})ms|(?P<s>\d{2,4}\.\d{0,2})s)\]\[(?P<loss>\d+\.\d{4})\]"
)
_BOOSTING = re.compile(
    r"(?<=[\]\s])\[(?P<round>\d{1,7})\]\t(?=\S[^\t:]{0,60}[-\x27 ][\w@.-]{1,40}: ?[-\d.e+]+(?:\t|\s*\Z))"
)
_MINIMIZED = re.compile(
    r"(?P<of>[\w.-]{1,40})(?:-|'s )(?:rmse|rmsle|mae|mape|m?logloss|binary_logloss|multi_logloss|l1|l2|huber)(?=: ?\d)"
)
_CLOCK = re.compile(r"\d\d:\d\d:\d\d")
_TXL = re.compile(r"(?<=\] )\[(?P<step>\d{1,9})\] \| gnorm (?=\d)")
_COUNT = r"\d+(?:\.\d+)?[kMGT]?"
_ZEROS = re.compile(r"\.0+\Z")
_LOGGABLE = re.compile(
    rf"Progress on:(?P<name>\S{{1,60}}(?: \S{{1,40}}){{0,4}}?) (?P<count>{_COUNT})it/(?P<total>{_COUNT})it"
    r" rate:(?:-|[\d.,]+(?:it/s|s/it)) remaining:(?P<left>\?|[\d:]+) elapsed:(?P<elapsed>[\d:]+)"
    r" postfix:(?P<postfix>.*)\Z"
)


def with_names(text: str) -> str:
    """A line with the names of its numbers, if it is one of these."""
    if "3d_train " in text and (known := _VIDEOPOSE.match(text)) and float(known["time"]) >= _LEAST_MIN:
        errors = _OF_3D.sub(r" \1_3d ", text[known.end() :])
        return f"epoch {known['epoch']}, epoch time: {known['time']} minutes,{errors}"
    if "|| timer: " in text and (known := _YOLACT.match(text)):
        step = f"epoch {known['epoch']}, step {known['step']}, loss: {known['loss']}"
        return f"{step}, step time: {known['time']} s"
    if "_train_" in text:
        return _YOLOV3_TF2.sub(r"epoch \g<epoch>, \g<phase> batch \g<batch>, loss: \g<loss>, ", text, count=1)
    if "[#" in text and (known := _FACESWAP.match(text)):
        time = f"step time: {known['time']} s, " if known["time"] else ""
        return f"{known['stamp']} iteration {known['step']}, {time}{text[known.end() :]}"
    if "][#" in text and (known := _DEEPFACELAB.match(text)):
        time = f"{int(known['ms'])} ms" if known["ms"] else f"{known['s']} s"
        return f"{known['stamp']} iteration {known['step']}, step time: {time}, loss: {known['loss']}"
    if "]\t" in text and (known := _BOOSTING.search(text)) and _CLOCK.search(text, 0, known.start()):
        losses = _MINIMIZED.sub(r"\g<of> loss", text[known.end() :]).replace("\t", ", ")
        return f"{text[: known.start()]}iteration {known['round']}, {losses}"
    if "] | gnorm " in text:
        return _TXL.sub(r"step \g<step> | gnorm ", text, count=1)
    if "Progress on:" in text and (known := _LOGGABLE.search(text)):
        postfix = f", {known['postfix']}" if known["postfix"] not in ("", "-") else ""
        count, total = (_ZEROS.sub("", known[of]) for of in ("count", "total"))  # 19.0 is 19
        bar = f"1%|  | {count}/{total} [{known['elapsed']}<{known['left']}, ?it/s{postfix}]"
        return f"{text[: known.start()]}{known['name']}: {bar}"
    return text
