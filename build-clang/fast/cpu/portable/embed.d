build-clang/fast/cpu/portable/embed.o: fast/cpu/portable/embed.c \
  fast/schedule.h ref/base/case/op.h ref/base/case/args.h \
  ref/base/format/matrix.h ref/base/num/dtype.h ref/base/num/real.h \
  fast/cpu/portable/widen.h

fast/schedule.h:

ref/base/case/op.h:

ref/base/case/args.h:

ref/base/format/matrix.h:

ref/base/num/dtype.h:

ref/base/num/real.h:

fast/cpu/portable/widen.h:
