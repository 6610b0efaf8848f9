"""Lines of a training loop that no other format knows.

Tool: any script that prints a line for each step, or for each tenth
Versions: one line for each record, or one drawing of a progress bar
Yields: steps, phases, metrics, params
Source: the user's own; tabular/role_table.py says which names are recognized, docs/generic.md prints them

Lines have one shape if the same text comes before their first count, numbers and times masked, and the same
names count.  The shape that counts upwards and measures something of training is read; of several the one with steps,
then with a time.  Lines of validation, loading, saving and evaluation are not read.  Where two shapes tell of different
steps, nothing is read until a preset names one.  `identify` shows the shapes, and three lines of each.

A name comes before its number (`loss: 8.9`, `loss=8.9`, `loss 8.9`), a unit after it (`0.31 s`, `3.1 it/s`).  Names
become roles as in generic_csv.  `12/391` and `[12:391]` count batches of the epoch, or steps where no line counts
epochs; a number ahead that grows where the count restarts is the epoch, and so is a line `Epoch 3/10` before each start
of the count, or `Epoch 3: loss 1.2` after each end (of a `step 20/328` as well, which then counts within its epoch), and the iteration of `iteration:3 step:20/400` where it grows with each restart.  `Loss at step 20: 2.5`
counts steps, `Average loss for epoch 3: 0.36` epochs.  Two lines are enough where each says the epoch, which of how
many batches, and a loss; else five.
`[640/60000 (1%)]` may count samples, as may a count without a name that grows by a multiple of 32, and `[3/10]` alone,
which grows by one, epochs, also where it begins anew below each heading of a fold, a seed or a model: no time is derived from the time stamps until --map says that it counts steps, and none that
is called no more than a time is that of an epoch or a step.  `11.7 ms per image` is neither.
`18916/18871 tok/s` is two rates, and is not read; `(2/8)` next to a
count with a name is not a count, nor is `flips=3/42` after an epoch and a step; `Epoch: [3 | 60]` is epoch 3 of 60, as is `Epoch: [3-60] Batch: [50-391]`, and
`Epoch [3-20/391]` batch 20 of epoch 3; where the number after `/` changes from line to line, nothing is read, but for
`Batch 3/200` where 200 grows while 3 stays, and restarts as that grows: then 3 is the epoch.
A count that goes on where the next epochs begin (`400/600 (epoch 2)`) is of the run.  One that is 20, 40 and so on in
each epoch counts its batches from 1, and one that is 19, 39 and so on from 0.
A number padded inside brackets (`[ 3] ep=30`, then `[13] ep=130`) is not a rank.
`0.31 (0.35)` is a value and its mean.  Where several lines hold numbers such as `0,31`, and none of them a point, commas
stand for points; else `0,31` is not read.  A last line without an end, and one that ends before what all others print,
may be cut: a problem.

A line in quotes is read without them, but not the strings of a JSON document.  `[Time: 0:2:15]` is 2 min 15 s, and
`0:00:12.4s elapsed` below a line of each epoch is that of the epoch where it goes up and down.  A time that grows and goes
back only where the epochs do is since each training began, also where the line says that the epoch completed in it; two
times of one epoch that are unlike are of different work, and not read.  Where nothing tells which bars train, the times of
epochs that lines state are read even so.

A JSON object at the end of a line, or as a whole line among others, is read like the names and numbers of any line.  `Completed 3/10 epochs` counts epochs,
`3epoch:train:1-100batch:` epochs and batches, and `1,000/20,000` a thousand of them.

A time whose name does not say which, or in which unit, is held against the time stamps, else against the time left
(`eta: 0:03:10`, `ETA: 3.2m`): it is the time of a step where it fits them; of several that fit, the one that is called the
time of a step (`Train time: 0.33, Iter time: 0.37`).  So it is where it is the sum of all other times of its line,
forward or backward among them, and each step has a line; and where a time with a unit, also one called elapsed, goes up and down, each step has a line,
and no stamps say else; and, with a unit, where another line states its mean
(`avg_step_time=0.105`).  A time without a unit that grows, line by line, as the time stamps do is the time since the start,
or since the epoch began, in the one unit that fits.  Times of epochs, or of steps that each have a line, are in the unit in
which they add up to the one total that a line states (`Training complete in 12m 34s`, or of the job: `real 12m34.5s`), to those of as
many trainings as the epochs begin anew, or have the mean that it states
(`Median time per epoch: 1.2 s`).  A time that is named as that of an epoch (`time this epoch= 41.2`) has the one unit in
which it fits between the stamps of the lines: in seconds at least a fourth of what passes, in others most of it.  Where a rate per second times a time is a count of its line (`total steps 65536 | steps per
sec 1540.3 | total time 42.5`), that time is in seconds since the start, and one that it grows by is that of the step; so is
one that gives what a count has grown by when multiplied by the rate (`frames 4096 | fps 640 | time 3.2`).  A time that is
a power of two when multiplied by a rate of samples or tokens is that of one step (`505ms | 8111 tok/s`), and that of
all ten since the line before if it is ten times one.  One without a unit that is called the time of a step has the unit in
which it is such a power (`dt: 221.5 | tokens/sec: 2367007.9`).  A time with a unit that is as many times its count in each
line is since the epoch, or the start, began: `Batch[1/5] (14s)`, then `Batch[2/5] (28s)`.  A time of which it is unclear whether it is of one step, of all
since the line before, or since the start, and in which unit, is read as the one of these that adds up to a whole: a
total that the log states, the times of its epochs, or what lies between the last stamp before its records and the
first one after them; by these stamps alone, a time without a unit is in seconds.  A unit that was found so is in params (`time_unit`, inferred).  A few lines that many programs copied, such as `time: 102.6443,
d_loss: 0.48025573` of DCGAN, are known to be in seconds (tabular/unknown_logs/known_seconds.py).
Otherwise it stays open, as in a CSV.  A line without any time,
and with time stamps at least ten times finer than the time between the lines, or between several of them, has that time
(`interval_mean`; params: `step_s_origin` = derived, `step_s_resolution_s`); not where each line is of another epoch, or validation or
saving comes between most of them, not where most steps have several lines, and not where lines come in bursts.  Rates
of steps (`3.1 it/s`, or `steps/sec: 3.1` where steps are counted) are running means, and lose against a time in the
same line that says the same with more digits, and against time stamps if their last digit is more than a twentieth; one
whose last digit is more than a fifth (`0.2 it/s`) tells no time.
Where they go up and down as the time stamps do, they are of the steps since the line before.

A time with another in brackets (`0.31 (0.35)`) may be of the last steps alone: it is read where it is that of the clock
line by line.  A time since the start goes back only where a later launch counts from its start.
Where the time stamps show it, or the line says of how many steps (`2.5 s for 10 iterations`, ten steps apart), a time is
that of all steps since the line before, which is divided among them, or that of the epoch if each line is of another
one.  One that is too short by just the time of the data next to it is not that of
the step: then the stamps count.  So they do where a time, multiplied by the batches of the epoch so far, grows as the stamps do:
it is the mean since the epoch began.  Where no stamps tell, a time called a mean of a batch, such as `Avg time/batch`, is
one if the count times it never falls in any epoch, each of 20 lines or more, and hardly ever grows by far more than usual: what it
grows by is the time of the steps between two lines, or between as many as its digits need to tell a tenth of it.  So is a time
of a batch that no name calls a mean, of which epochs have four lines or more, if in three epochs what it is longer by at their
beginning falls as one over the count.  `data: 0.02  batch: 0.86` are times, if the time left falls by as much with each step.  A time that is the count times the mean in its line is since the start; a mean that
times the count is the time passed is a running mean, and so is an `avg batch time`.  `ups` are updates per second.
`Time for the last 100 steps: 12.5 s` is that of a hundred steps; `(2.5 s/10 iters)` and `10 iterations took 2.5 s` are
those of ten where ten lie between most lines; where fewer lie before some lines than before most, a time with a unit that is
as much less there is that of all steps since the line before, and one that is as long at the end of each epoch a mean of a step; a time that stands once in an epoch, in a line such as `Epoch [3/10] Step
[0/50]` or `[50/50]`, may be that of the batch, and is that of the epoch only if its name or the time stamps say so; where one line in ten follows a validation or saving, the stamps of these tell no time; nor do those of the first record after the traceback of an error, after
the end of a job, or after a
second launch, where a third of the lines before the first record, and three or more, come again between two records; and a cost with a unit of time (`step cost: 187.5 ms`) is
a time.  `Steps 412 (405.2)` has a mean, and counts nothing.  A count that is the same in each epoch (`Epoch[7] - Iter: [0/13]`) counts nothing.

A time of a step in a line of its own (`speed: 0.524s / iter`, `step time: 0.52 s`) is that of the record before it, or after
it, where it stands once between two records.  So is the time since the start (`Elapsed time: 72.4s`, `总耗时: 72.4 秒`), where it grows from record
to record by a third of its first value or more, and no validation or saving comes between most of these.  `Epoch 1 (1/200)` counts epochs, twice.  `[003/050]` counts epochs in lines that state losses of training and of
validation, and grows by one, `net[3/50]` where other lines count as `net epoch:3`, and `Iter: [3][20/391]` batch 20 of epoch 3, and `[3/50] #10` step 10 of epoch 3.  `TRAIN Batch 0/200` counts batches of epoch 0 where 200 grows from line to
line.  Lines of steps that are a fifth of those of epochs, or fewer, are not read beside them.  Lines that sum up each epoch, a fifth of
those of steps or fewer, are none of them; and of a `step` that begins anew in each epoch and a `global_step`, the second counts.  A mean over all epochs that a
line states, beside epochs without a time, is a metric: `epoch time`, or `median epoch time`.  So is the mean by a line that
states the time of a whole training and its epochs (`Number of epochs: 200 - Training time: 64.0 s`), or the mean beside that
(`Training time: 1673.0s (20.40s/epoch)`), and by the one total
after all epochs, counted from the first (`Training complete in 4m 12s`).  A time that is the same in each of ten epochs is
that of an epoch: one since the start would grow.  So is one of ten to a thousand of its last digits, beside a loss, in each of three
epochs or more that follow one another (`Epoch 2/4: loss 1.5 (70s)`), unless the stamps show that less passed.

A line that counts epochs, steps or batches in German, French, Spanish, Portuguese, Italian, Russian, Chinese, Japanese or
Korean is read as if its words of training were English: `Epoche 3: Verlust 2.1, Dauer 45 s`; so is one that counts in
English and says the rest in signs: `Epoch 3, 训练损失: 2.1`.  `0.31s per step` is
`0.31 s/step`.

Where no line of a log names its count, a number at the beginning that grows by the same amount from line to line, and by
more than one, counts steps: `#10 | loss 2.3`.  One that grows by one may count epochs, and is read only beside the time of a
step (`0.42 s/it`); one that grows by a multiple of 32 may count samples.  Of `(2, 100)` the second counts batches where it
restarts as the first grows by one.  `E3:`, `[E3/10]`, `Ep. 3`, `epoch-3` and `Epoch No. 3` count epochs, `epoch1,step2` both.
`0/2`, `1/2` and `2/2` are three of two: they count parts of an epoch, and give no time.  `Epoch 3 - VAL - Batch 100` is of a
validation.  `dt` beside an epoch alone is its time.

A number with a unit in brackets is not a mean of a loss: `loss 2.3 (0.12 sec)`; nor is a time that of any number whose name
tells of no time: `R2 0.79 (58.6s)`.  `fps` and `sps` beside what an agent gained are samples per second,
`TPS` beside a loss tokens per second.  `9.23 seconds, 0.15 min` is one time; what Julia's
@time prints below an epoch is its time.  A `dt` that is the same in each line, beside a time that grows by it, is the step of
what is computed.  `Valid: 98% Step: 3` states a share, and is of no validation.  `Time elapsed 0:01:01`,
`time: 0:01:01`, `time: 1:01:01` and `time=0.2m` are spans that have passed; `[0:01:01<0:05:00]` is what has passed and what is left.  `(no improve 1/10)` and folds are not counts; a configuration in a line is not a record.  Of two counts of steps, one always the same
multiple of the other, the smaller is the step.

Where lines state a time and nothing of training, and others, of another number, the loss of the same count, these are
the records: a test may have a loop like the training's.  Batches that do not say their epoch are left out beside lines
that count epochs with their loss.  Batches of an epoch whose only loss is of a test are not the training's.
`Communication round 3` and `Global Round 3` count as epochs do.  Four forms that many programs have copied say which time
they state, unless it grows from line to line or has less than twenty units of its last digit: `Step 300: loss = 1.27 (0.042
sec)`, `Iter 3 training loss = 2.345 , time = 0.56` and `Epoch 0/16, Iter 3/400, train loss = 5.123, time = 0.745` that of the
one step, `It: 40, Loss: 3.142e-03, Time: 0.27` that of all steps since the line before, in seconds.  What loguru says of the
place (`| INFO     | pkg.trainer:after_iter:258 - `) counts nothing, nor does the prefix of glog.  `Device=xla:0/3` is rank 3.

An epoch whose losses of training and of validation have a line each ends once.  Lines such as `Train Loss: 2.1 | Train PPL: 8.2`
and `Val.  Loss: 2.2`, which count nothing and stand at once after the line of an epoch without a loss, or at once before it, are of that epoch.
Lines that count epochs alone, and follow one another with the same epoch, are one record; so are those of the same step,
as long as each says something new (`Step 10: Train accuracy = 83%`, `Step 10: Cross entropy = 0.49`); the time in one of them that is of a
validation alone is not the epoch's.  Where each micro-step has a line (`micro_step 5 (step 1)`), the last one of a step is
its record, and a step that the log ends in the middle of has none.  `train: 9.1s - val: 3.2s`, or `train in: 0m 9s ... valid in: 0m 3s`, is the time of an epoch's training, and a time that each of five
epochs or more adds as much to as the first is since the start: `time 0.37 h`, `0:01:28s`.  They give the time of each epoch by their stamps, or by a time since the start that grows
like a sum: a `phases` row, with the validation in it.  A heading alone is left to headed_lines, unless a loss that is
printed at the same time shows that the epoch is over.  Where nothing else tells the times of epochs, lines that begin and end each
(`Starting epoch 3`, `Finished epoch 3`) do, by their stamps: a row without what lies between two epochs.  Where only each tenth epoch has a line, or stamps are too coarse
for one epoch, the mean time of the epochs between is a metric, `epoch time`.  Where lines have one stamp or the next, and
come evenly and without pauses, those that are fifty times its last digit apart tell the mean of what lies between.  Where
validation or saving comes between most lines of steps, the time that their stamps tell holds it: a metric, `time per step
with pauses`.  A stamp may count seconds since 1970, or
be alone on the line before; it may be that of a container's log or of syslog, end with the minute, name its month, or
have no colons (`20260304_095807`, at the beginning of a line).  It may stand at the end of a long line; one that says when something is expected to
end (`finishes at: 2026-01-02 03:04:05`, `ETA 03:04:05`) is none.  An interval of several records, where one is too short for
the digits of a clock, begins anew after each line that mentions validation or saving.  `[0:01:24]` at the
beginning is the time since the start, and so is `[24:1:36]`; `Current time: 1700000045` is a stamp; stamps that go back as the steps grow are the time left, and tell nothing.  Where steps have no time, lines that count the epoch, or come
once in each (`Time taken for 1 epoch: 61.2 sec`), give that of the epoch; they come before the stamps.  Where only the last
epoch has two lines, as far apart as epochs are, all others stand where an epoch begins.  So do the stamps
of headings that say no more than the epoch (`Epoch 3/20`), where the training's bar fills once below each and is too short to tell times.  A time of an
epoch that differs from line to line of one epoch is since the epoch began where it grows, and else what is left of it:
it is not read.  `Time for the last 500 epochs: 55.2 s` gives their mean (a metric).  Beside epochs of which only each
tenth has a line, a time may be that of ten, and is not read.  `Ep 3/20` counts epochs, and episodes, which are not read,
with a reward.  In a line that says what an agent gained (`reward`, `return`), `Num steps: 10000` at the beginning counts
steps, if it leaps; `Steps: 157` after the number of an episode is the length of that.

The rate of tqdm's bar is smoothed, and never the time of a step: it is inverted, and held against the elapsed seconds
(parsing/bar_times.py).  A bar that fills and is drawn from its start again is the next epoch, and its steps are counted
on; one that did not fill is a restart.  A bar with the label of an evaluation, of loading or of other work is not read, nor is one of data, examples or a file.
A bar without a label is the training's where lines of training come between its drawings; so is one without a total
that is drawn once for each of them (`12it [00:50, 4.1s/it]step: 12, loss: 0.3`), whose losses are left out.  If no other line records
steps, it also is where it fills at least twice and, at least every second time, a loss of training follows first (and no
loss came before the first bar), or both a bar labeled as validation and a loss follow; or where the line
before it announces training (`Epoch 3: training`).  If two such bars of different totals may be it, neither is read: give
the training's a label, or use a preset; so it is where the other one has a label that does not tell (`Steps:`).  Of two
of one size by turns, none is read: two are full in each epoch that other lines count, or each second one is much quicker.  Of two
others that are drawn by turns, the first is the training's where it has more steps, which take no less time each, and the losses of the
training and of the validation both come after the second.  Where only the full drawings are left, as in the last state of a terminal, each
is a bar if other lines count as many epochs; a last one may have ended before it was full.  What a bar draws long after it was
full, as when a validation is over, has no time.  A drawing whose end a narrow terminal cut (`[00:04<51:54,  1.35it/`) is read;
where its rate is cut, too, by its elapsed seconds, if another drawing of as many steps shows that they are iterations.
Where the lines say the epoch, a second bar of it with another total is that of its validation.  The bar's time of a
step comes before one in its lines that is less than half as long (`batch_time=0.034s` at 1.9 s/it): that is of a part.  Bars called Iteration or Step, with one of epochs, are the training's, and so
are bars that are drawn once for each epoch, when they are full.  The one bar of a log in which nothing else counts is the
training's, if the log's name, or that of the script in its lines, is of a training (`train_walker.log`, `finetune.py`) and no
line tells of other work; one of a thousand or fewer that is not drawn again and again may count epochs, and is not read.  Where short bars tell too little for
a time of their own, and longer ones would stand for all, each bar has the mean of its steps, and none has one where the
short ones are shorter than five seconds.  A loss in brackets within a
label (`Training (loss: 6.05): 100%|`) is not part of it.  Of a bar's drawings at one place the last counts, of Keras' bars the full ones.  A bar that counts
samples (`25.0img/s`) and is of training by its label or by a loss beside it tells their rate and the times of epochs,
and no steps; one that counts bytes is not read, nor is one that grows by multiples of 32, which may be samples, or of 8 if
tqdm would have drawn seven steps, or grows by one multiple of 8 now and by another then.  Nor are bars of one label and two
totals read that are drawn by turns, where no line says the epoch: one of the two is a validation's.  A step in which another
bar was drawn, as that of an evaluation, has no time if such steps are few and long.  Batches that a resumed epoch skips
at its start, in less than a tenth of the time of later ones, have none: those after them have means by the elapsed seconds.  A bar
without a label that is drawn once, and counts as many as the epochs of other lines (which may name the same step in
each), has no steps, nor has one each of
whose drawings names the epoch that it counts (`12/500 [..., epoch=12, loss=0.3]`, `Epoch 12:   2%|  | 12/500`): it has
epochs.  Nor has one for each of whose counts another bar of training is drawn (`Training: 3/40` above `batches: 400/400`),
unless it is called one of steps; nor has one without a label that grows by as many as epochs begin in lines that count the
batches of each (`Epoch 1, Batch: 10, Loss: 2.1`): it tells the times of these epochs.  Where
nothing else tells the times of epochs, the one bar that counts these does, by its label, its unit, or a total of as many
epochs as other lines count.  Beside
steps that another format reads without their times, the bar of the training gives them.  A count with a suffix, `1.21k`, is rounded: params say to how many
(`step_resolution`), and times are means over ten seconds or more.  So is a time since the start with an exponent (`4.5e+01s`)
as exact as its last digit, that of the largest.  Lines of a few tools whose numbers have no names, such as
`[12] time 1.92 lr 0.001 3d_train 37.5` in minutes, are written out first (parsing/known_lines.py).

Where the count begins anew below lines that name another training than before, that is another run: another value of
`Model: resnet50`, of a batch size, of a size of the model (`hidden_dim: 256`) or of another setting that can change the speed,
another number of parameters, other settings in a heading or in a dictionary on one line (`=== Experiment 2: dim=128 ===`), another script (`python train_large.py`), `Fine-tuning`
after `Pretraining`, `Training resnet50`, or another heading about training, or a `Method: ...`, below a rule; the run
has the method's name.  A setting also tells it where the opening of the log
comes again and the count goes on.  Folds, seeds and learning rates are repeats of one run, and what comes back after something else, as the stages
of each fold do, divides nothing (tabular/unknown_logs/trainings.py).

Samples:
    [Epoch 1/500][ 100:391]  Loss: 1.03 LR: 0.0001
"""

from scalelens import tabular
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source

VERSION = 10
LAST = True  # any other format comes first
GUESSES = True
SECOND_READ = True  # also where other formats took lines, but none that are steps


def recognise(head: bytes, name: str) -> bool:
    return tabular.is_text(head)


def read(source: Source, rows: Rows) -> str | None:
    return tabular.read_lines(source, rows)
