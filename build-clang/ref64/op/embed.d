build-clang/ref64/op/embed.o: ref/op/embed.c ref/op/weight.h ref/op/op.h \
  ref/base/case/args.h ref/base/format/matrix.h ref/base/num/dtype.h \
  ref/base/num/real.h ref/base/case/op.h

ref/op/weight.h:

ref/op/op.h:

ref/base/case/args.h:

ref/base/format/matrix.h:

ref/base/num/dtype.h:

ref/base/num/real.h:

ref/base/case/op.h:
