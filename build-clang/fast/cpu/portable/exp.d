build-clang/fast/cpu/portable/exp.o: fast/cpu/portable/exp.c \
  fast/schedule.h ref/base/case/op.h ref/base/case/args.h \
  ref/base/format/matrix.h ref/base/num/dtype.h ref/base/num/real.h \
  fast/cpu/portable/elementary.h ref/base/num/coef.h \
  ref/base/num/convert.h

fast/schedule.h:

ref/base/case/op.h:

ref/base/case/args.h:

ref/base/format/matrix.h:

ref/base/num/dtype.h:

ref/base/num/real.h:

fast/cpu/portable/elementary.h:

ref/base/num/coef.h:

ref/base/num/convert.h:
